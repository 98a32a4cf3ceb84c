//! What a rule looks at.

use nanscope_lang::Lang;
use nanscope_numeric::Format;
use nanscope_trace::schema::{Arg, Entry, Ledger, Phase, Source, Trip};

use crate::locate::{Birth, Located};
use crate::meant::{base, is_bad};

/// A located trip, as rules read it.
pub struct Case<'a> {
    /// All operators of the replay.
    pub ledger: &'a Ledger,
    /// What tripped.
    pub trip: &'a Trip,
    /// Where it began.
    pub located: &'a Located,
    /// What a person reads is in this language.
    pub lang: Lang,
}

impl<'a> Case<'a> {
    /// Builds a case from its parts.
    pub fn new(ledger: &'a Ledger, trip: &'a Trip, located: &'a Located, lang: Lang) -> Self {
        Case { ledger, trip, located, lang }
    }

    /// The entry of the origin: the operator that gave birth, or the one that met a value from outside.
    pub fn entry(&self) -> &'a Entry {
        &self.ledger.entries[self.located.birth.entry()]
    }

    /// Operator of the origin without namespace and overload; nothing when the value came from outside.
    pub fn op(&self) -> &'a str {
        match self.located.birth {
            Birth::Entry { entry } => base(&self.ledger.entries[entry].op).trim_end_matches('_'),
            Birth::Outside { .. } => "",
        }
    }

    /// The input through which a bad value came from outside.
    pub fn outside(&self) -> Option<&'a Arg> {
        match self.located.birth {
            Birth::Outside { entry, input } => self.ledger.entries[entry].inputs.get(input),
            Birth::Entry { .. } => None,
        }
    }

    /// Phase of the origin: `data` and `param` for a value from outside, otherwise its operator's.
    pub fn phase(&self) -> Phase {
        match self.outside().map(|arg| arg.source.as_ref()) {
            Some(Some(Source::State { .. })) => Phase::Optimizer,
            Some(Some(Source::Param { .. } | Source::Buffer { .. })) => Phase::Param,
            Some(Some(Source::Data { .. })) => Phase::Data,
            None if self.writes_nan() && self.entry().phase == Phase::Forward => Phase::Data,
            Some(Some(Source::Unwritten { .. }) | None) | None => self.entry().phase,
        }
    }

    /// True when a number of the origin is a value to be written or a bound, for which an infinity is usual.
    pub fn is_fill(&self, name: &str) -> bool {
        matches!(name, "value" | "fill_value" | "min" | "max" | "p" | "ord" | "nan" | "posinf" | "neginf")
            || matches!(self.op(), "fill" | "full" | "full_like" | "masked_fill" | "where" | "constant_pad_nd")
    }

    /// True when the origin is an operator that was told to write NaN: padding, a marker of what is missing.
    pub fn writes_nan(&self) -> bool {
        matches!(self.located.birth, Birth::Entry { .. }) && self.entry().scalars.values().any(|x| x.0.is_nan())
    }

    /// True when the origin is an operator that the program itself has called: in the forward pass, the recomputation, or
    /// the backward of its own `autograd.Function`.
    pub fn in_forward(&self) -> bool {
        matches!(self.located.birth, Birth::Entry { .. })
            && (matches!(self.phase(), Phase::Forward | Phase::Recompute) || self.in_own_backward())
    }

    /// True when the origin is an operator of torch's backward pass.
    pub fn in_backward(&self) -> bool {
        matches!(self.located.birth, Birth::Entry { .. }) && self.phase() == Phase::Backward && !self.in_own_backward()
    }

    /// torch numbers its own nodes (`DivBackward0`); one of the program's is named after its class (`SafeNormBackward`).
    fn in_own_backward(&self) -> bool {
        self.phase() == Phase::Backward && self.entry().node.as_deref().is_some_and(|node| node.ends_with("Backward"))
    }

    /// Backward node of the origin without `Backward0`: `Sqrt` of `SqrtBackward0`.
    pub fn node(&self) -> Option<&'a str> {
        let node = self.entry().node.as_deref()?;
        Some(node.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("Backward"))
    }

    /// The forward operator that the origin's backward node belongs to.
    pub fn forward(&self) -> Option<&'a Entry> {
        self.entry().forward.and_then(|index| self.ledger.entries.get(index))
    }

    /// The first output of the origin that is bad.
    pub fn bad_output(&self) -> Option<&'a Arg> {
        self.entry().outputs.iter().find(|arg| is_bad(arg))
    }

    /// Number format of the first bad output.
    pub fn format(&self) -> Option<&'static Format> {
        Format::named(&self.bad_output()?.dtype)
    }

    /// An input of the origin by schema name.
    pub fn input(&self, name: &str) -> Option<&'a Arg> {
        self.entry().inputs.iter().find(|arg| arg.name == name)
    }

    /// Value of an input at the bad index.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.input(name)?.value.map(|x| x.0)
    }

    /// That value when the whole step is computed in float64.
    pub fn reference(&self, name: &str) -> Option<f64> {
        self.input(name)?.reference.map(|x| x.0)
    }

    /// True when an input holds an infinity that was meant to exclude something.
    pub fn reads_neginf(&self) -> bool {
        self.entry().inputs.iter().any(|arg| arg.counts.is_some_and(|c| c.neginf > 0))
    }

    /// Largest finite magnitude among the origin's inputs.
    pub fn largest_input(&self) -> Option<f64> {
        self.entry().inputs.iter().filter_map(|arg| arg.counts?.max_abs).reduce(f64::max)
    }

    /// A number from the facts of the run.
    pub fn fact(&self, name: &str) -> Option<f64> {
        self.ledger.facts.get(name)?.as_f64()
    }
}
