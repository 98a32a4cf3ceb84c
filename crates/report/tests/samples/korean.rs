use nanscope_trace::schema::*;

use super::*;

/// [`forward::half_overflow`], diagnosed in Korean.
pub(crate) fn half_overflow() -> Report {
    let mut report = forward::half_overflow();
    report.causes = vec![
        cause(
            "half-overflow",
            "결과가 16비트 또는 8비트 자료형의 가장 큰 유한한 값을 넘음",
            Confidence::Proved,
            &["float64에서는 1.71e5; float16의 최댓값은 65504"],
        ),
        cause("singular-matrix", "역행렬이 없는 행렬", Confidence::Possible, &["aten.linalg_inv_ex: 행렬의 크기 24"]),
    ];
    for link in &mut report.chain {
        link.text = match link.text.as_str() {
            "nan" => "값이 nan",
            text if text.contains("inf") => "값 1152개 중 inf 48개",
            _ => "값 768개 중 nan 768개",
        }
        .into();
    }
    report.experiments[0].change = "autocast를 끔".into();
    report.fixes[0].summary = "이 곱을 float32로 실행하십시오".into();
    report.fixes[1].summary = "ridge를 키우면 역행렬의 값이 작게 유지됩니다".into();
    report.warnings = vec!["마지막으로 기록된 스텝: 4, 손실 nan".into()];
    report
}
