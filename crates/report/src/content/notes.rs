use nanscope_trace::schema::{Origin, Phase, Replay, Report};

use super::{
    label::row,
    number::{number, seconds},
    operand::operand,
    trip::trip,
};

/// One fact: what it is about, and the fact.
pub(crate) struct Note {
    pub(crate) about: String,
    pub(crate) text: String,
}

/// The facts about the origin, the most telling first: why, from what, where, how it was found.
pub(crate) fn notes(report: &Report) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |about: &str, text: String| notes.push(Note { about: about.into(), text });
    for evidence in report.causes.iter().take(1).flat_map(|cause| &cause.evidence) {
        add("because", evidence.clone());
    }
    if let Some(origin) = &report.origin {
        for input in &origin.inputs {
            add(&format!("input {}", input.name), operand(input));
        }
        if let Some(row) = row(origin).filter(|_| origin.phase == Phase::Data) {
            add("sample", row);
        }
        if let Some(text) = reference(origin) {
            add("reference", text);
        }
        add("where", place(origin));
    }
    if let Some(summary) = &report.trip {
        add("seen", trip(summary, report.run.world_size));
    }
    if let Some(facts) = &report.replay {
        add("replay", replay(facts));
    }
    notes
}

fn reference(origin: &Origin) -> Option<String> {
    let reference = origin.reference.as_ref()?;
    let dtype = &reference.dtype;
    Some(match (reference.finite, reference.largest) {
        (true, Some(largest)) => format!("the same in {dtype} is finite, largest {}", number(largest)),
        (true, None) => format!("the same in {dtype} is finite"),
        (false, _) => format!("the same in {dtype} is not finite either: the format is not to blame"),
    })
}

/// `Encoder.forward, module encoder, aten.mm.default, float16 on cpu, forward of step 4`.
fn place(origin: &Origin) -> String {
    let mut parts = Vec::new();
    if let Some(place) = origin.place.as_ref().filter(|place| !matches!(place.function.as_str(), "" | "<module>")) {
        parts.push(place.function.clone());
    }
    if let Some(module) = &origin.module {
        parts.push(format!("module {module}"));
    }
    match (&origin.op, &origin.node) {
        (Some(op), Some(node)) => parts.push(format!("{op} in {node}")),
        (Some(op), None) => parts.push(op.clone()),
        (None, Some(node)) => parts.push(node.clone()),
        (None, None) => {}
    }
    match (&origin.dtype, &origin.device) {
        (Some(dtype), Some(device)) => parts.push(format!("{dtype} on {device}")),
        (Some(dtype), None) => parts.push(dtype.clone()),
        (None, _) => {}
    }
    parts.push(match origin.phase {
        Phase::Data | Phase::Param => format!("met in step {}", origin.step),
        other => format!("{} of step {}", phase(other), origin.step),
    });
    parts.join(", ")
}

fn replay(replay: &Replay) -> String {
    let Replay { faithful, method, events, operators, seconds: total } = replay;
    let counts = format!("{events} events, {operators} operators, {}", seconds(*total));
    if *faithful {
        format!("faithful, by {method}: {counts}")
    } else {
        format!("NOT faithful, by {method}: {counts}; take the line above as a lead, not as proof")
    }
}

/// The phase as a word in a sentence.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Data => "data",
        Phase::Param => "param",
        Phase::Forward => "forward",
        Phase::Recompute => "recompute",
        Phase::Backward => "backward",
        Phase::Hook => "hook",
        Phase::Comm => "comm",
        Phase::Unscale => "unscale",
        Phase::Clip => "clip",
        Phase::Optimizer => "optimizer",
    }
}
