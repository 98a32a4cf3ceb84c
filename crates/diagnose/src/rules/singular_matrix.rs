use nanscope_lang::say;
use nanscope_numeric::Format;
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
    /// Add to the diagonal what the problem allows (1e-6 of its mean, say), solve in float64, or use a form that
    /// accepts rank deficiency (`lstsq`, `pinv`). float32 carries seven digits: a condition number
    /// (`torch.linalg.cond`) above 1e7 leaves none.
    ///
    /// ## Example
    /// ```python
    /// l = torch.linalg.cholesky(k + 1e-4 * torch.eye(n, device=k.device))
    /// ```
    SingularMatrix, "singular-matrix", "a matrix without an inverse",
    "add a small multiple of the identity before the operation, or use lstsq or pinv, which accept rank deficiency",

    /// ## 무슨 일이 일어났나
    /// 역행렬이 없는(또는 거의 없는) 행렬의 역행렬을 구하거나, 그 행렬로 방정식을 풀거나, 그 행렬을 분해하거나, 로그
    /// 행렬식을 구했습니다.
    ///
    /// ## 왜
    /// 행이나 열이 선형 종속인 경우, 샘플 수가 특징 수보다 적은 경우, 상수인 특징의 공분산, 같은 점이 반복된 커널
    /// 행렬이 그렇습니다. 행렬식이 0이고 그 로그는 -inf입니다.
    ///
    /// ## 어떻게 하나
    /// 문제가 허용하는 만큼 대각에 더하거나(예를 들어 대각 평균의 1e-6배), float64로 풀거나, 랭크가 부족해도 되는
    /// 방법(`lstsq`, `pinv`)을 쓰십시오. float32의 유효 숫자는 일곱 자리 정도이므로 조건수(`torch.linalg.cond`)가
    /// 1e7을 넘으면 남는 자리가 없습니다.
    ///
    /// ## 예
    /// ```python
    /// l = torch.linalg.cholesky(k + 1e-4 * torch.eye(n, device=k.device))
    /// ```
    "역행렬이 없는 행렬",
    "연산 전에 단위행렬의 작은 배수를 더하거나, 랭크가 부족해도 되는 lstsq나 pinv를 쓰십시오",
    check;
    apart "print the smallest singular value: 0, or tiny beside the largest, decides",
    "가장 작은 특잇값을 출력해 보십시오: 0이거나 최댓값에 비해 아주 작으면 이것이 원인입니다"
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
        evidence.push(say!(case.lang, "{} of a {n} x {n} matrix", "{}: {n} x {n} 행렬", text::operator(&case.entry().op)));
    }
    if let Some(at) = case.bad_output().and_then(|arg| arg.index.as_deref()).filter(|at| !at.is_empty()) {
        evidence.push(say!(case.lang, "the first bad result is at {}", "첫 비정상 결과의 위치: {}", text::index(at)));
    }
    let also = case.entry().reference.as_ref().is_some_and(|r| !r.finite);
    if also {
        let (en, ko) = (
            "in float64 it is not finite either: the matrix is singular, not merely ill-conditioned",
            "float64에서도 유한하지 않음: 조건수가 나쁜 정도가 아니라 특이 행렬임",
        );
        evidence.push(case.lang.pick(en, ko).to_owned());
    }
    let condition = case.entry().reference.as_ref().and_then(|reference| reference.condition).map(|x| x.0);
    let format = case.entry().inputs.first().and_then(|arg| Format::named(&arg.dtype));
    let mut too_large = false;
    if let (Some(condition), Some(format)) = (condition, format) {
        let limit = 1.0 / format.epsilon;
        too_large = condition > limit;
        evidence.push(say!(
            case.lang,
            "its condition number is {}; {} keeps a digit up to {}",
            "조건수는 {}; {}에서 유효 숫자가 남는 한계는 {}",
            text::number(condition),
            format.name,
            text::number(limit)
        ));
    }
    Finding::sure(also || too_large, 6, evidence)
}
