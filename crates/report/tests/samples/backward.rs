use nanscope_trace::schema::*;

use super::*;

/// A derivative that is infinite where the value is finite; the line is that of the forward operator.
pub(crate) fn infinite_derivative() -> Report {
    let mut at = origin(Phase::Backward, "inf", 1, 96);
    at.op = Some("aten.div.Tensor".into());
    at.node = Some("SqrtBackward0".into());
    at.place = place(27, "pairwise", "    distance = ((a[:, None] - b[None]) ** 2).sum(-1).sqrt()", (15, 59));
    at.first_index = Some(vec![0, 0]);
    let mut input = operand("other", "float32", &[12, 8], Census { zero: 1, max_abs: Some(5.25), ..Census::default() });
    input.index = Some(vec![0, 0]);
    input.value = Some(Num(0.0));
    at.inputs = vec![input];
    let mut chain = vec![
        link(Phase::Backward, "aten.div.Tensor", 27, "1 of 96 inf"),
        link(Phase::Backward, "aten.mul.Tensor", 27, "2 of 192 nan: inf * 0"),
        link(Phase::Clip, "aten._foreach_mul_.Tensor", 88, "every gradient nan"),
    ];
    chain[0].node = Some("SqrtBackward0".into());
    chain[1].node = Some("PowBackward0".into());
    Report {
        trip: Some(TripSummary { name: Some("embed.weight".into()), ..trip(2, Where::Gradient, "nan").unwrap() }),
        replay: replay(true),
        origin: Some(at),
        chain,
        causes: vec![cause(
            "infinite-derivative",
            "the value is finite, its derivative is not",
            Confidence::Likely,
            &["sqrt at exactly 0: its derivative 1 / (2 sqrt(x)) is inf", "1 of 96 arguments is 0, at [0, 0]"],
        )],
        fixes: vec![advice(
            "inside",
            "add the epsilon inside the root: `(... + 1e-12).sqrt()`; outside it is too late",
        )],
        ..report(Verdict::Nonfinite)
    }
}
