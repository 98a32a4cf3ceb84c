use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A bad value was computed in forward and thrown away there (`where`, a mask, `nan_to_num`, `clamp`), so the loss is
    /// finite. The derivative at that value was not thrown away: 0 * inf is NaN.
    ///
    /// ## Why
    /// `torch.where(ok, f(x), y)` sends a gradient of 0 into the branch that was not taken, and f'(x) is infinite there. The
    /// same for `nan_to_num(f(x))` and for a clamp after the function.
    ///
    /// ## What to do
    /// Make the argument safe before the function, and select afterwards.
    ///
    /// ## Example
    /// ```python
    /// safe = torch.where(x > 0, x, torch.ones_like(x))
    /// y = torch.where(x > 0, torch.log(safe), torch.zeros_like(x))
    /// ```
    WhereGradientTrap, "where-gradient-trap", "a bad value is thrown away in forward and comes back in backward",
    "make the argument safe before the function and select afterwards: f(where(ok, x, 1)), then where(ok, ..., y)",
    check
}

fn check(case: &Case) -> Option<Finding> {
    let surfaced = &case.ledger.entries[case.located.surfaced.or_else(|| crossing(case))?];
    if !case.in_forward() || case.trip.loss.is_none_or(|loss| !loss.0.is_finite()) {
        return None;
    }
    let entry = case.entry();
    let out = case.bad_output()?;
    let mut evidence = vec![format!("{} gives {} in forward, and the loss is finite", entry.op, text::bad_of(out, case.lang))];
    let node = surfaced.node.as_deref().unwrap_or("the backward pass");
    let read: Vec<String> = surfaced.inputs.iter().filter_map(|arg| text::operand(arg, case.lang)).collect();
    evidence.push(match surfaced.outputs.iter().find(|arg| crate::meant::is_bad(arg)) {
        Some(bad) if read.is_empty() => format!("{node} turns it into {}", text::bad_of(bad, case.lang)),
        Some(bad) => format!("{node} turns it into {}: {}", text::bad_of(bad, case.lang), read.join(", ")),
        None => format!("{node} meets it again"),
    });
    Finding::proved(5, evidence)
}

/// The first backward entry on the path whose gradient was still finite: there the healed value came back.
fn crossing(case: &Case) -> Option<usize> {
    let path = &case.located.path;
    let first = path.iter().position(|&i| case.ledger.entries[i].phase == nanscope_trace::schema::Phase::Backward)?;
    (first > 0).then(|| path[first])
}
