use nanscope_trace::schema::*;

use super::*;

/// A batch with three bad values in it: the operator that met them is not to blame.
pub(crate) fn bad_input() -> Report {
    let mut at = origin(Phase::Data, "nan", 3, 512);
    at.op = Some("aten.addmm.default".into());
    at.place = place(21, "Net.forward", "        return self.head(x)", (15, 27));
    at.module = Some("head".into());
    at.tensor = Some("argument x of Net.forward".into());
    at.first_index = Some(vec![3, 9]);
    at.inputs = vec![operand("mat1", "float32", &[32, 16], Census { nan: 3, max_abs: Some(3.5), ..Census::default() })];
    Report {
        trip: trip(4, Where::Loss, "nan"),
        replay: replay(true),
        origin: Some(at),
        chain: vec![link(Phase::Data, "aten.addmm.default", 21, "3 of 512 nan")],
        causes: vec![cause(
            "bad-input",
            "NaN or Inf was already in the batch",
            Confidence::Proved,
            &["3 of 512 values are nan before any operator ran, in rows 3 and 11 of 32"],
        )],
        fixes: vec![advice(
            "look",
            "look at samples 3 and 11 of this batch, and check the data set with torch.isfinite",
        )],
        ..report(Verdict::Nonfinite)
    }
}

/// A parameter that was allocated and never written.
pub(crate) fn uninitialised_parameter() -> Report {
    let mut at = origin(Phase::Param, "nan", 12, 64);
    at.op = Some("aten.mul.Tensor".into());
    at.place = Some(Place { file: "model/layers.py".into(), line: 112, ..Place::default() });
    at.tensor = Some("scale.weight".into());
    at.first_index = Some(vec![5]);
    at.step = 0;
    Report {
        trip: trip(0, Where::Loss, "nan"),
        replay: replay(true),
        origin: Some(at),
        causes: vec![cause(
            "uninitialised-memory",
            "memory was allocated and never written",
            Confidence::Proved,
            &["`scale.weight` comes from torch.empty at model/layers.py:98 and nothing wrote it"],
        )],
        fixes: vec![advice("init", "initialise it: `nn.init.ones_(self.weight)`")],
        ..report(Verdict::Nonfinite)
    }
}
