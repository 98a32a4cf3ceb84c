use nanscope_trace::schema::{Phase, Source};

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A value that is not finite was already in the batch, in a target or in another tensor from outside the step when the
    /// first operator met it. The operator and its layer are not to blame.
    ///
    /// ## Why
    /// NaN in a file, a division by zero in the preprocessing, the logarithm of 0 in a feature, padding filled with NaN. A
    /// weight of 0 does not protect from it: 0 * nan is nan, so a masked position still reaches the sum and the gradient.
    ///
    /// ## What to do
    /// Look at the sample named in the report. Reject or repair it before the forward pass; zero padded slots with
    /// `masked_fill` before the first layer, not after it.
    ///
    /// ## Example
    /// ```python
    /// x = torch.nan_to_num(x)            # or: drop the sample
    /// assert torch.isfinite(x).all()     # in the Dataset, where the index is known
    /// ```
    BadInput, "bad-input", "a value was already bad when it came in with the data",
    "look at the sample named above, and reject or repair it before the forward pass; a mask applied later does not help, since 0 * nan is nan",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if case.writes_nan() && case.phase() == Phase::Data {
        let out = case.bad_output()?;
        return Finding::proved(5, vec![format!("the program itself writes nan here: {}", text::bad_of(out, case.lang))]);
    }
    let arg = case.outside()?;
    let Some(Source::Data { name, .. }) = &arg.source else { return None };
    if case.phase() != Phase::Data {
        return None;
    }
    let mut evidence = vec![format!("{name} arrived with {}", text::bad_of(arg, case.lang))];
    if let Some(at) = &arg.index {
        evidence.push(format!("the first is at {}", text::index(at)));
    }
    Finding::proved(5, evidence)
}
