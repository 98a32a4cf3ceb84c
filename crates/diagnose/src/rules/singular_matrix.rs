use nanscope_trace::schema::Phase;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A matrix that has no inverse (or almost none) was inverted, solved with, factorised, or its log-determinant was taken.
    ///
    /// ## Why
    /// Linearly dependent rows or columns, fewer samples than features, a covariance of constant features, a kernel matrix of
    /// repeated points. The determinant is 0, its logarithm -inf.
    ///
    /// ## What to do
    /// Add to the diagonal what the problem allows (`a + eps * eye`), solve in float64, or use a form that accepts rank
    /// deficiency (`lstsq`, `pinv`).
    ///
    /// ## Example
    /// ```python
    /// l = torch.linalg.cholesky(k + 1e-4 * torch.eye(n))
    /// ```
    SingularMatrix, "singular-matrix", "a matrix without an inverse",
    "add a small multiple of the identity before the operation, or use lstsq or pinv, which accept rank deficiency",
    check
}

const FORWARD: &[&str] = &[
    "linalg_inv_ex", "linalg_lu_factor_ex", "linalg_lu", "linalg_lu_solve", "linalg_cholesky_ex", "linalg_ldl_factor_ex",
    "_linalg_solve_ex", "_linalg_slogdet", "_linalg_det", "linalg_solve_triangular", "cholesky_inverse", "cholesky_solve",
    "triangular_solve", "linalg_pinv",
];

const BACKWARD: &[&str] = &[
    "LinalgInvEx", "LinalgLuFactorEx", "LinalgLu", "LinalgLuSolve", "LinalgCholeskyEx", "LinalgSolveEx", "LinalgSlogdet",
    "LinalgDet", "LinalgSolveTriangular", "CholeskyInverse", "CholeskySolve",
];

fn check(case: &Case) -> Option<Finding> {
    let forward = case.in_forward() && FORWARD.contains(&case.op());
    let backward = case.phase() == Phase::Backward && case.node().is_some_and(|node| BACKWARD.contains(&node));
    if !forward && !backward {
        return None;
    }
    let mut evidence = vec![];
    if let Some(input) = case.entry().inputs.first().filter(|arg| arg.shape.len() >= 2) {
        let n = input.shape[input.shape.len() - 1];
        evidence.push(format!("{} of matrices of size {n}", case.entry().op));
    }
    if let Some(at) = case.bad_output().and_then(|arg| arg.index.as_deref()).filter(|at| !at.is_empty()) {
        evidence.push(format!("the first bad result is at {}", text::index(at)));
    }
    let also = case.entry().reference.as_ref().is_some_and(|r| !r.finite);
    if also {
        evidence.push("in float64 it is not finite either: the matrix is singular, not merely ill-conditioned".to_owned());
    }
    Finding::sure(also, 6, evidence)
}
