use nanscope_lang::say;

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
    /// Make the singular values or eigenvalues differ before the decomposition (add a small diagonal with distinct
    /// entries), leave such samples out, or use only what is well defined: `torch.linalg.svdvals` or `eigvalsh`
    /// without the vectors, `u @ vh` through a polar (Newton-Schulz) iteration.
    ///
    /// ## Example
    /// ```python
    /// h = h + torch.diag(torch.tensor([1e-3, 2e-3, 3e-3]))    # distinct: 1 / (s_i^2 - s_j^2) stays finite
    /// u, s, vh = torch.linalg.svd(h)
    /// ```
    DegenerateDecomposition, "degenerate-decomposition", "the derivative of a decomposition with equal or zero values",
    "make the singular values or eigenvalues differ before decomposing (add a small diagonal with distinct entries), or leave rank-deficient samples out",

    /// ## 무슨 일이 일어났나
    /// 특잇값 분해, 고윳값 분해 또는 QR 분해의 역전파에서 서로 같은 특잇값이나 고윳값의 차로 나누었거나, 0인 특잇값이나
    /// 고윳값으로 나누었습니다.
    ///
    /// ## 왜
    /// 특잇값이 같으면 특이벡터가 하나로 정해지지 않으므로 도함수가 존재하지 않습니다. 도함수에는 1 / (s_i^2 - s_j^2)가
    /// 들어 있습니다. 랭크가 부족한 행렬(한 직선 위의 점들, 영행렬, 같은 열의 반복), 대칭성이 있는 문제, 단위행렬의
    /// 스펙트럼이 이렇습니다.
    ///
    /// ## 어떻게 하나
    /// 분해하기 전에 특잇값이나 고윳값이 서로 달라지게 하거나(대각에 서로 다른 작은 값을 더함), 그런 샘플을
    /// 제외하거나, 잘 정의된 양만 사용하십시오: 특이벡터 없이 `torch.linalg.svdvals`나 `eigvalsh`, 또는
    /// 극분해(Newton-Schulz) 반복으로 구한 `u @ vh`.
    ///
    /// ## 예
    /// ```python
    /// h = h + torch.diag(torch.tensor([1e-3, 2e-3, 3e-3]))    # distinct: 1 / (s_i^2 - s_j^2) stays finite
    /// u, s, vh = torch.linalg.svd(h)
    /// ```
    "같거나 0인 특잇값·고윳값이 있는 분해의 도함수",
    "분해하기 전에 특잇값이나 고윳값이 서로 달라지게 하거나(서로 다른 작은 값을 대각에 더함) 랭크가 부족한 샘플을 제외하십시오",
    check;
    apart "print the spectrum: equal, zero or nearly equal values decide",
    "고윳값이나 특잇값을 출력해 보십시오: 서로 같거나 0이거나 거의 같으면 이것이 원인입니다"
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
    let mut evidence = vec![say!(
        case.lang,
        "born in {node}, the derivative of {op}",
        "{op}의 도함수인 {node}에서 발생",
        node = case.entry().node.as_deref()?,
        op = text::operator(&case.forward()?.op)
    )];
    if let Some(value) = case.value("other").filter(|x| *x == 0.0) {
        let at = case.input("other").and_then(|arg| arg.index.as_deref()).map(text::index).unwrap_or_default();
        evidence.push(say!(
            case.lang,
            "it divides by a difference that is {value} at {at}",
            "나누는 차의 값이 {at} 위치에서 {value}",
            value = text::number(value)
        ));
        return Finding::proved(7, evidence);
    }
    Finding::likely(7, evidence)
}
