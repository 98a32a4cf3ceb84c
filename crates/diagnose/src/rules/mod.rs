//! One file per cause. Each rule's doc comment is its page.

use nanscope_trace::schema::{Cause, Confidence, Fix, Safety};

use crate::case::Case;

/// What a rule found in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How sure.
    pub confidence: Confidence,
    /// Among equally sure causes the most specific comes first: 0 to 9.
    pub weight: u8,
    /// Sentences with numbers.
    pub evidence: Vec<String>,
}

impl Finding {
    fn proved(weight: u8, evidence: Vec<String>) -> Option<Finding> {
        Some(Finding { confidence: Confidence::Proved, weight, evidence })
    }

    fn likely(weight: u8, evidence: Vec<String>) -> Option<Finding> {
        Some(Finding { confidence: Confidence::Likely, weight, evidence })
    }

    /// `proved` when a float64 execution from the same inputs confirms it.
    fn sure(proved: bool, weight: u8, evidence: Vec<String>) -> Option<Finding> {
        if proved { Finding::proved(weight, evidence) } else { Finding::likely(weight, evidence) }
    }
}

/// One cause: what it looks for and what it says.
pub trait Rule: Sync {
    /// Id, as in the taxonomy.
    fn id(&self) -> &'static str;
    /// One line.
    fn title(&self) -> &'static str;
    /// The page, Markdown.
    fn page(&self) -> String;
    /// What to try, one sentence.
    fn advice(&self) -> &'static str;
    /// The finding, if this cause is at work.
    fn check(&self, case: &Case) -> Option<Finding>;
}

/// Declares a rule; the doc comment becomes its page.
macro_rules! rule {
    ($(#[doc = $page:literal])+ $name:ident, $id:literal, $title:literal, $advice:literal, $check:ident) => {
        $(#[doc = $page])+
        pub(super) struct $name;

        impl $crate::rules::Rule for $name {
            fn id(&self) -> &'static str {
                $id
            }
            fn title(&self) -> &'static str {
                $title
            }
            fn page(&self) -> String {
                [$($page),+].map(|line| line.strip_prefix(' ').unwrap_or(line)).join("\n")
            }
            fn advice(&self) -> &'static str {
                $advice
            }
            fn check(&self, case: &$crate::case::Case) -> Option<$crate::rules::Finding> {
                $check(case)
            }
        }
    };
}

macro_rules! rules {
    ($($file:ident :: $name:ident),+ $(,)?) => {
        $(mod $file;)+

        /// Every rule, in order of id.
        pub fn all() -> &'static [&'static dyn Rule] {
            &[$(&$file::$name),+]
        }
    };
}

rules! {
    bad_input::BadInput,
    buffer_reused::BufferReused,
    cancellation::Cancellation,
    degenerate_decomposition::DegenerateDecomposition,
    divergence::Divergence,
    division_by_zero::DivisionByZero,
    empty_reduction::EmptyReduction,
    epsilon_lost::EpsilonLost,
    exp_overflow::ExpOverflow,
    fully_masked_row::FullyMaskedRow,
    gradient_edit::GradientEdit,
    half_overflow::HalfOverflow,
    infeasible_target::InfeasibleTarget,
    infinite_derivative::InfiniteDerivative,
    log_of_zero::LogOfZero,
    loss_scale_overflow::LossScaleOverflow,
    mask_constant_overflow::MaskConstantOverflow,
    masked_class_in_loss::MaskedClassInLoss,
    negative_argument::NegativeArgument,
    optimizer_epsilon::OptimizerEpsilon,
    poisoned_state::PoisonedState,
    single_element_spread::SingleElementSpread,
    singular_matrix::SingularMatrix,
    underflow::Underflow,
    uninitialised_memory::UninitialisedMemory,
    where_gradient_trap::WhereGradientTrap,
    zero_times_infinity::ZeroTimesInfinity,
}

/// What to try for the first cause, in words.
pub(crate) fn advice(causes: &[Cause]) -> Vec<Fix> {
    let Some(first) = causes.first() else { return vec![] };
    let rule = all().iter().find(|rule| rule.id() == first.id);
    rule.map(|rule| Fix {
        id: format!("{}-advice", rule.id()),
        summary: rule.advice().to_owned(),
        safety: Safety::Advice,
        diff: None,
        proof: None,
    })
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    #[test]
    fn every_rule_has_a_unique_legal_id_a_title_a_page_and_advice() {
        let ids: Vec<_> = all().iter().map(|rule| rule.id()).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        assert!(ids.is_sorted(), "rules are listed in order of id: {ids:?}");
        for rule in all() {
            let id = rule.id();
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{id}");
            assert!(!rule.title().is_empty() && !rule.title().ends_with('.'), "{id}");
            assert!(!rule.advice().is_empty(), "{id}");
            for heading in ["## What happened", "## Why", "## What to do", "## Example"] {
                assert!(rule.page().contains(heading), "{id} has no section {heading:?}");
            }
        }
    }
}
