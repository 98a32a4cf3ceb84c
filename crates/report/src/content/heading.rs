use nanscope_lang::Lang;

/// What stands above a part of a report.
#[derive(Clone, Copy)]
pub(crate) enum Heading {
    Others,
    Chain,
    Experiments,
    Fixes,
    More,
    Warnings,
}

impl Heading {
    /// In lower case, where a language has case.
    pub(crate) fn text(self, lang: Lang) -> &'static str {
        match self {
            Heading::Others => lang.pick("what else fits", "함께 살펴볼 원인"),
            Heading::Chain => lang.pick("how it got there", "전파 경로"),
            Heading::Experiments => lang.pick("what was tried", "실험 결과"),
            Heading::Fixes => lang.pick("what to try", "해 볼 만한 조치"),
            Heading::More => lang.pick("what would tell more", "더 알아보려면"),
            Heading::Warnings => lang.pick("warnings", "경고"),
        }
    }
}
