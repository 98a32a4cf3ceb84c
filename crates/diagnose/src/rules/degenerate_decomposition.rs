use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The backward pass of a singular value, eigenvalue or QR decomposition divided by a difference of two equal singular
    /// values or eigenvalues, or by one that is 0.
    ///
    /// ## Why
    /// The singular vectors of equal singular values are not unique, so their derivative does not exist: it contains
    /// 1 / (s_i^2 - s_j^2). Rank-deficient matrices (points on a line, a zero matrix, repeated columns), symmetric problems and
    /// the identity have such spectra.
    ///
    /// ## What to do
    /// Separate the spectrum before the decomposition (a small diagonal with distinct entries), leave such samples out, or use
    /// only what is well defined (singular values without the vectors, `u @ vh` through a polar iteration).
    ///
    /// ## Example
    /// ```python
    /// h = h + torch.diag(torch.tensor([1e-3, 2e-3, 3e-3]))
    /// u, s, vh = torch.linalg.svd(h)
    /// ```
    DegenerateDecomposition, "degenerate-decomposition", "the derivative of a decomposition with equal or zero values",
    "separate the spectrum before decomposing (add a small diagonal with distinct entries), or leave rank-deficient samples out",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_backward() {
        return None;
    }
    let node = case.node()?;
    let known = ["LinalgSvd", "LinalgEigh", "LinalgEig", "LinalgQr", "Svd", "Symeig", "LinalgSvdvals", "LinalgEigvalsh"];
    if !known.contains(&node) {
        return None;
    }
    let mut evidence = vec![format!("born in {}, the derivative of {}", case.entry().node.as_deref()?, case.forward()?.op)];
    if let Some(value) = case.value("other").filter(|x| *x == 0.0) {
        let at = case.input("other").and_then(|arg| arg.index.as_deref()).map(text::index).unwrap_or_default();
        evidence.push(format!("it divides by a difference that is {} at {at}", text::number(value)));
        return Finding::proved(7, evidence);
    }
    Finding::likely(7, evidence)
}
