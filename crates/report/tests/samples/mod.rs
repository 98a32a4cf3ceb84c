//! Reports as they come out of a diagnosis, one per shape that a renderer must cope with.

mod backward;
mod dark;
mod data;
mod forward;
pub(crate) mod korean;
mod quiet;

use nanscope_numeric::Census;
use nanscope_trace::schema::*;

/// Every sample with its name.
pub(crate) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("forward_half_overflow", forward::half_overflow()),
        ("forward_cancellation", forward::cancellation()),
        ("backward_infinite_derivative", backward::infinite_derivative()),
        ("data_bad_input", data::bad_input()),
        ("param_uninitialised", data::uninitialised_parameter()),
        ("unknown_cause", dark::unknown_cause()),
        ("no_origin", dark::no_origin()),
        ("ranks_diverging", dark::diverging()),
        ("finite", quiet::finite()),
        ("torn", quiet::torn()),
    ]
}

/// A run of seven steps.
pub(crate) fn report(verdict: Verdict) -> Report {
    Report {
        schema: REPORT_SCHEMA.into(),
        verdict,
        run: RunSummary {
            script: "train.py".into(),
            argv: vec!["--epochs".into(), "3".into()],
            python: "3.11.7".into(),
            torch: "2.13.0+cu130".into(),
            nanscope: "0.1.0".into(),
            devices: vec!["cpu".into()],
            world_size: 1,
            steps: 7,
            seconds: Some(3.25),
            watch_seconds: Some(0.04),
        },
        trip: None,
        replay: None,
        origin: None,
        chain: vec![],
        digits: vec![],
        attention: vec![],
        causes: vec![],
        experiments: vec![],
        island: None,
        fixes: vec![],
        ranks: vec![],
        warnings: vec![],
    }
}

pub(crate) fn trip(step: u64, where_: Where, kind: &str) -> Option<TripSummary> {
    Some(TripSummary { step, rank: 0, where_, name: None, kind: kind.into(), alarm: None, seen: None, place: None })
}

pub(crate) fn replay(faithful: bool) -> Option<Replay> {
    Some(Replay { faithful, method: "tape".into(), events: 12, operators: 431, seconds: 0.21, whole: None })
}

pub(crate) fn place(line: u32, function: &str, code: &str, columns: (u32, u32)) -> Option<Place> {
    let place = Place { file: "train.py".into(), line, function: function.into(), ..Place::default() };
    Some(Place { columns: Some(columns), code: Some(code.into()), ..place })
}

pub(crate) fn origin(phase: Phase, kind: &str, bad: u64, of: u64) -> Origin {
    Origin {
        entry: None,
        phase,
        rank: 0,
        step: 4,
        op: None,
        node: None,
        place: None,
        module: None,
        dtype: Some("float32".into()),
        device: Some("cpu".into()),
        kind: kind.into(),
        bad,
        of,
        first_index: None,
        tensor: None,
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    }
}

pub(crate) fn operand(name: &str, dtype: &str, shape: &[u64], census: Census) -> Operand {
    let census = Some(Census { n: shape.iter().product(), ..census });
    Operand {
        name: name.into(),
        dtype: dtype.into(),
        shape: shape.to_vec(),
        census,
        index: None,
        value: None,
        reference: None,
    }
}

pub(crate) fn link(phase: Phase, op: &str, line: u32, text: &str) -> Link {
    let (op, file) = (Some(op.into()), Some("train.py".into()));
    Link { phase, op, node: None, file, line: Some(line), module: None, text: text.into() }
}

pub(crate) fn cause(id: &str, title: &str, confidence: Confidence, evidence: &[&str]) -> Cause {
    let evidence = evidence.iter().map(|&text| text.to_owned()).collect();
    let docs = format!("nanscope rules {id}");
    Cause { id: id.into(), title: title.into(), confidence, evidence, distinguish: None, docs }
}

pub(crate) fn advice(id: &str, summary: &str) -> Fix {
    Fix {
        id: id.into(),
        summary: summary.into(),
        safety: Safety::Advice,
        diff: None,
        files: vec![],
        proof: None,
        note: None,
    }
}
