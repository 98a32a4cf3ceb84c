use nanscope_trace::schema::{Proof, Safety};

use super::number::count;

/// How far to trust a fix, in words.
pub(crate) fn safety(safety: Safety) -> &'static str {
    match safety {
        Safety::Safe => "safe: healthy steps stay as they are",
        Safety::ChangesTraining => "changes training: healthy steps change too",
        Safety::Advice => "advice",
    }
}

/// What running the fix showed.
pub(crate) fn proof(proof: &Proof) -> String {
    let steps = count(proof.steps, "step");
    let outcome = if proof.finite { "finite" } else { "not finite" };
    let losses = &proof.healthy_losses;
    if proof.proved {
        format!("proved: applied and run for {steps}, {outcome}, losses of healthy steps {losses}")
    } else {
        format!("not proved: applied and run for {steps}, {outcome}, losses of healthy steps {losses}")
    }
}
