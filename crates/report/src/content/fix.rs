use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Proof, Safety};

use super::number::count;

/// How far to trust a fix, in words.
pub(crate) fn safety(safety: Safety, lang: Lang) -> &'static str {
    match safety {
        Safety::Safe => lang.pick("safe: healthy steps stay as they are", "안전: 정상 스텝의 결과는 그대로임"),
        Safety::ChangesTraining => {
            lang.pick("changes training: healthy steps change too", "학습이 달라짐: 정상 스텝의 결과도 바뀜")
        }
        Safety::Advice => lang.pick("advice", "조언"),
    }
}

/// What running the fix showed.
pub(crate) fn proof(proof: &Proof, lang: Lang) -> String {
    let proved =
        if proof.proved { lang.pick("proved", "증명됨") } else { lang.pick("not proved", "증명되지 않음") };
    let outcome =
        if proof.finite { lang.pick("finite", "유한함") } else { lang.pick("not finite", "유한하지 않음") };
    let mut told = say!(
        lang,
        "{proved}: applied and run for {steps}, {outcome}",
        "{proved}: 적용 후 {steps} 실행, {outcome}",
        steps = lang.pick(count(proof.steps, "step"), format!("{}개 스텝", proof.steps))
    );
    if proof.compared > 0 {
        told += &say!(
            lang,
            "; losses of {healthy} before it {losses}",
            "; 그 전 {healthy}의 손실: {losses}",
            healthy = lang.pick(count(proof.compared, "healthy step"), format!("정상 스텝 {}개", proof.compared)),
            losses = lang.pick(proof.healthy_losses.as_str(), losses(&proof.healthy_losses))
        );
    }
    if let Some(ratio) = proof.time_ratio {
        told += &say!(lang, "; a step takes {ratio:.2}x the time", "; 스텝 시간은 {ratio:.2}배");
    }
    told
}

fn losses(healthy: &str) -> &str {
    match healthy {
        "identical" => "동일함",
        "close" => "거의 같음",
        "changed" => "달라짐",
        other => other,
    }
}
