use nanscope_trace::schema::{TripSummary, Where};

/// `the gradient of encoder.weight was nan at step 4`.
pub(crate) fn trip(trip: &TripSummary, world_size: u32) -> String {
    let kind = &trip.kind;
    let name = trip.name.as_deref();
    let what = match (trip.where_, name) {
        (Where::Loss, _) => format!("the loss was {kind}"),
        (Where::Gradient, Some(name)) => format!("the gradient of `{name}` was {kind}"),
        (Where::Gradient, None) => format!("a gradient was {kind}"),
        (Where::Parameter, Some(name)) => format!("parameter `{name}` was {kind}"),
        (Where::Parameter, None) => format!("a parameter was {kind}"),
        (Where::Buffer, Some(name)) => format!("buffer `{name}` was {kind}"),
        (Where::Buffer, None) => format!("a buffer was {kind}"),
        (Where::State, Some(name)) => format!("optimizer state `{name}` was {kind}"),
        (Where::State, None) => format!("optimizer state was {kind}"),
        (Where::Output, Some(name)) => format!("the output of `{name}` was {kind}"),
        (Where::Output, None) => format!("a module's output was {kind}"),
        (Where::Scale, _) => "the loss scale kept falling".into(),
        (Where::Trend, Some(name)) => format!("{name} left its trend"),
        (Where::Trend, None) => "loss or gradient norm left its trend".into(),
        (Where::Recompute, Some(name)) => format!("`{name}` computed something else when it was run again"),
        (Where::Recompute, None) => "a recomputed block gave something else than its forward".into(),
        (Where::Rank, Some(name)) => format!("ranks disagree about `{name}`"),
        (Where::Rank, None) => "ranks disagree".into(),
    };
    let rank = if world_size > 1 { format!(" on rank {} of {world_size}", trip.rank) } else { String::new() };
    format!("{what} at step {}{rank}", trip.step)
}
