use nanscope_trace::schema::{Report, Verdict};

/// Without a cause: what would tell more, each a thing to do.
pub(crate) fn tells_more(report: &Report) -> Vec<String> {
    if report.verdict == Verdict::Finite || !report.causes.is_empty() {
        return Vec::new();
    }
    let mut ways = Vec::new();
    let mut add = |text: &str| ways.push(text.to_owned());
    match (&report.replay, &report.origin) {
        (None, _) => add("the step was not run again: run the script under `nanscope run` until the trip"),
        (Some(replay), _) if !replay.faithful => {
            add("the replay differs from the run: fix the seeds, and read files and time outside the step");
        }
        (Some(_), None) => {
            add(
                "no operator of the replay wrote the bad value: look at code that runs between backward and the update",
            );
        }
        (Some(_), Some(_)) => {}
    }
    if let Some(origin) = &report.origin {
        if origin.inputs.iter().all(|input| input.census.is_none()) {
            add("print the inputs of the line just before it: their largest and smallest values decide");
        }
        if origin.dtype.as_deref().is_some_and(|dtype| dtype != "float64" && dtype != "float32") {
            add("run the same step with autocast off: finite then means that the format is too narrow");
        }
        if origin.reference.is_none() {
            add("run the line in float64: still bad means that the formula is to blame, not the format");
        }
    }
    ways
}
