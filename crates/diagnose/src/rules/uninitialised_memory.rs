use nanscope_trace::schema::Source;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A parameter, buffer or temporary was allocated (`torch.empty`, `to_empty`) and read before anything was written to it.
    ///
    /// ## Why
    /// Such memory holds whatever was there before: often zeros, so that the fault hides for months, sometimes NaN. A
    /// parameter that the initialisation forgets, rows of a table that are never assigned, a meta-device model whose custom
    /// `reset_parameters` misses one tensor.
    ///
    /// ## What to do
    /// Initialise it. `torch.use_deterministic_algorithms(True)` fills fresh memory with NaN and makes the fault certain.
    ///
    /// ## Example
    /// ```python
    /// self.token = nn.Parameter(torch.empty(1, d))
    /// nn.init.normal_(self.token, std=0.02)
    /// ```
    UninitialisedMemory, "uninitialised-memory", "memory was read that nothing had written",
    "initialise it: nn.init.* on every parameter made with torch.empty, zeros instead of empty for buffers",
    check
}

fn check(case: &Case) -> Option<Finding> {
    let arg = case.outside()?;
    match arg.source.as_ref()? {
        Source::Param { name, unwritten: true, place } => {
            let mut evidence = vec![format!("parameter {name} was allocated and never written: {}", text::bad_of(arg, case.lang))];
            if let Some(place) = place {
                evidence.push(format!("allocated at {}:{}", place.file, place.line));
            }
            Finding::proved(8, evidence)
        }
        Source::Unwritten { place } => {
            let mut evidence = vec![format!("memory was read that nothing had written: {}", text::bad_of(arg, case.lang))];
            if let Some(place) = place {
                evidence.push(format!("allocated at {}:{}", place.file, place.line));
            }
            Finding::proved(8, evidence)
        }
        Source::Param { name, .. } | Source::Buffer { name } if case.trip.step == 0 => {
            let filled = case.ledger.facts.get("deterministic_fill").and_then(|x| x.as_bool()).unwrap_or(false);
            let all = arg.counts.is_some_and(|c| c.nan == arg.shape.iter().product::<u64>());
            if !filled || !all {
                return None;
            }
            Finding::likely(6, vec![
                format!("{name} is nothing but nan before the first update"),
                "torch's deterministic mode fills fresh memory with nan".to_owned(),
            ])
        }
        _ => None,
    }
}
