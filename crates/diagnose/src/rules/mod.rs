//! One file per cause. Each rule's doc comment is its page.

use nanscope_lang::Lang;
use nanscope_trace::schema::{Cause, Confidence, Fix, Safety};

use crate::case::Case;
use crate::course::Course;

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
    /// What findings are ordered by, the highest first.
    pub(crate) fn rank(&self) -> (Confidence, u8) {
        (self.confidence, self.weight)
    }

    fn possible(weight: u8, evidence: Vec<String>) -> Option<Finding> {
        Some(Finding { confidence: Confidence::Possible, weight, evidence })
    }

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
    fn title(&self, lang: Lang) -> &'static str;
    /// The page, Markdown.
    fn page(&self, lang: Lang) -> String;
    /// What to try, one sentence.
    fn advice(&self, lang: Lang) -> &'static str;
    /// What would tell this cause from others that are as likely, one sentence: a thing to try or to print, and what decides.
    fn distinguish(&self, lang: Lang) -> &'static str;
    /// The finding at a located origin, if this cause is at work there.
    fn check(&self, _case: &Case) -> Option<Finding> {
        None
    }
    /// The finding over the steps of the run, located or not. It rests on what the run itself showed, not on a replay.
    fn over_steps(&self, _course: &Course) -> Option<Finding> {
        None
    }
}

/// Declares a rule: the page as doc comment, title and advice, once in each language, and the function that checks:
/// `check` at an origin, `steps check` over the steps, or `check; steps over`. What would tell the cause from others comes
/// last: `; apart "en", "ko"`.
macro_rules! rule {
    (@parts $check:ident $(; $($more:tt)+)?) => {
        fn check(&self, case: &$crate::case::Case) -> Option<$crate::rules::Finding> {
            $check(case)
        }
        $(rule! { @parts $($more)+ })?
    };
    (@parts steps $check:ident $(; $($more:tt)+)?) => {
        fn over_steps(&self, course: &$crate::course::Course) -> Option<$crate::rules::Finding> {
            $check(course)
        }
        $(rule! { @parts $($more)+ })?
    };
    (@parts apart $en:literal, $ko:literal $(; $($more:tt)+)?) => {
        fn distinguish(&self, lang: nanscope_lang::Lang) -> &'static str {
            lang.pick($en, $ko)
        }
        $(rule! { @parts $($more)+ })?
    };
    (
        $(#[doc = $page:literal])+ $name:ident, $id:literal, $title:literal, $advice:literal,
        $(#[doc = $page_ko:literal])+ $title_ko:literal, $advice_ko:literal,
        $($parts:tt)+
    ) => {
        $(#[doc = $page])+
        pub(super) struct $name;

        impl $crate::rules::Rule for $name {
            fn id(&self) -> &'static str {
                $id
            }
            fn title(&self, lang: nanscope_lang::Lang) -> &'static str {
                lang.pick($title, $title_ko)
            }
            fn page(&self, lang: nanscope_lang::Lang) -> String {
                let lines: &[&str] = lang.pick(&[$($page),+], &[$($page_ko),+]);
                lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
            }
            fn advice(&self, lang: nanscope_lang::Lang) -> &'static str {
                lang.pick($advice, $advice_ko)
            }
            rule! { @parts $($parts)+ }
        }
    };
}

macro_rules! rules {
    ($($file:ident :: $name:ident),+ $(,)?) => {
        $(pub(crate) mod $file;)+

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
    collective_overflow::CollectiveOverflow,
    dead_units::DeadUnits,
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
    kernel_mismatch::KernelMismatch,
    log_of_zero::LogOfZero,
    loss_scale_collapse::LossScaleCollapse,
    loss_scale_overflow::LossScaleOverflow,
    mask_constant_overflow::MaskConstantOverflow,
    masked_class_in_loss::MaskedClassInLoss,
    memory_corruption::MemoryCorruption,
    missing_zero_grad::MissingZeroGrad,
    negative_argument::NegativeArgument,
    not_repeatable::NotRepeatable,
    optimizer_epsilon::OptimizerEpsilon,
    outlier_input::OutlierInput,
    poisoned_state::PoisonedState,
    rank_divergence::RankDivergence,
    recompute_mismatch::RecomputeMismatch,
    single_element_spread::SingleElementSpread,
    singular_matrix::SingularMatrix,
    underflow::Underflow,
    uninitialised_memory::UninitialisedMemory,
    where_gradient_trap::WhereGradientTrap,
    zero_learning_rate::ZeroLearningRate,
    zero_times_infinity::ZeroTimesInfinity,
}

/// What to try for the first cause, in words.
pub(crate) fn advice(causes: &[Cause], lang: Lang) -> Vec<Fix> {
    let Some(first) = causes.first() else { return vec![] };
    let rule = all().iter().find(|rule| rule.id() == first.id);
    rule.map(|rule| Fix {
        id: format!("{}-advice", rule.id()),
        summary: rule.advice(lang).to_owned(),
        safety: Safety::Advice,
        diff: None,
        files: vec![],
        proof: None,
        note: None,
    })
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Lang, Rule, all};

    const ENGLISH: [&str; 4] = ["## What happened", "## Why", "## What to do", "## Example"];
    const KOREAN: [&str; 4] = ["## 무슨 일이 일어났나", "## 왜", "## 어떻게 하나", "## 예"];

    #[test]
    fn every_rule_has_a_unique_legal_id() {
        let ids: Vec<_> = all().iter().map(|rule| rule.id()).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        assert!(ids.is_sorted(), "rules are listed in order of id: {ids:?}");
        for id in ids {
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{id}");
        }
    }

    #[test]
    fn every_rule_has_a_title_a_page_and_advice_in_each_language() {
        for rule in all() {
            for lang in Lang::ALL {
                let (id, title, advice, page) = (rule.id(), rule.title(lang), rule.advice(lang), rule.page(lang));
                assert!(!title.is_empty() && !title.ends_with('.'), "{id}: {title}");
                assert!(!advice.is_empty() && !advice.ends_with('.'), "{id}: {advice}");
                let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
                assert_eq!(headings, lang.pick(ENGLISH, KOREAN), "{id}");
                let apart = rule.distinguish(lang);
                assert!(!apart.is_empty() && !apart.ends_with('.'), "{id}: {apart}");
                for text in [title, advice, apart].into_iter().chain(page.split("## ").skip(1).take(3)) {
                    assert_eq!(text.chars().any(hangul), lang == Lang::Ko, "{id}: {text}");
                }
            }
        }
    }

    #[test]
    fn the_example_is_the_same_in_each_language() {
        for rule in all() {
            let example = example(*rule, Lang::En);
            assert!(example.starts_with("```python\n"), "{}", rule.id());
            assert_eq!(example, self::example(*rule, Lang::Ko), "{}", rule.id());
        }
    }

    /// What follows the last heading of the page.
    fn example(rule: &dyn Rule, lang: Lang) -> String {
        let page = rule.page(lang);
        let (_, rest) = page.rsplit_once("## ").unwrap();
        rest.split_once('\n').unwrap().1.to_owned()
    }

    fn hangul(c: char) -> bool {
        ('가'..='힣').contains(&c)
    }
}
