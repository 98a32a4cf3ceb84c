//! What is compared while a run is healthy: the value of `--check`.

use std::fmt;
use std::str::FromStr;

/// One word of `--check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Recomputation of checkpointed blocks, in the first step that has any.
    Once,
    /// The same in every so manieth step.
    Recompute(u32),
    /// What ranks must have in common, every so many steps; 0 leaves it to what it costs.
    Ranks(u32),
    /// Kernels of attention with their formula, every so many steps.
    Attention(u32),
    /// The step with itself, run once more, every so many steps.
    Repeat(u32),
    /// Nothing.
    None,
}

impl Check {
    /// As it is written.
    pub(crate) fn parse(text: &str) -> Result<Check, String> {
        let wrong = || {
            format!(
                "expected once, none, or recompute, ranks, attention, repeat, each with =N where wanted, got {text}"
            )
        };
        let (what, steps) = text.split_once('=').map_or((text, None), |(what, steps)| (what, Some(steps)));
        let every =
            steps.map(str::parse::<u32>).transpose().ok().filter(|steps| *steps != Some(0)).ok_or_else(wrong)?;
        match (what, every) {
            ("once", None) => Ok(Check::Once),
            ("none", None) => Ok(Check::None),
            ("recompute", every) => Ok(Check::Recompute(every.unwrap_or(1))),
            ("ranks", every) => Ok(Check::Ranks(every.unwrap_or(0))),
            ("attention", every) => Ok(Check::Attention(every.unwrap_or(1))),
            ("repeat", every) => Ok(Check::Repeat(every.unwrap_or(1))),
            _ => Err(wrong()),
        }
    }
}

/// In which steps things that must agree are compared. A field is None where they never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Steps from one comparison of what backward gets with what forward had to the next; 0 for one only.
    pub recompute: Option<u32>,
    /// Steps from one comparison between ranks to the next; the first few steps are compared anyway. 0 leaves it to what a
    /// comparison costs.
    pub ranks: Option<u32>,
    /// Steps from one comparison of kernels of attention with their formula to the next.
    pub attention: Option<u32>,
    /// Steps from one step that is run twice to the next.
    pub repeat: Option<u32>,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { recompute: Some(0), ranks: Some(0), attention: None, repeat: None }
    }
}

impl Checks {
    /// What `words` ask for; of two that contradict each other the last holds.
    pub(crate) fn of(words: &[Check]) -> Checks {
        words.iter().fold(Checks::default(), |checks, word| match *word {
            Check::Once => Checks { recompute: Some(0), ..checks },
            Check::Recompute(steps) => Checks { recompute: Some(steps), ..checks },
            Check::Ranks(steps) => Checks { ranks: Some(steps), ..checks },
            Check::Attention(steps) => Checks { attention: Some(steps), ..checks },
            Check::Repeat(steps) => Checks { repeat: Some(steps), ..checks },
            Check::None => Checks { recompute: None, ranks: None, attention: None, repeat: None },
        })
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Checks, String> {
        Ok(Checks::of(&text.split(',').map(Check::parse).collect::<Result<Vec<_>, _>>()?))
    }
}

/// As it is written.
impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("none")?;
        match self.recompute {
            Some(0) => f.write_str(",once")?,
            Some(steps) => write!(f, ",recompute={steps}")?,
            None => {}
        }
        match self.ranks {
            Some(0) => f.write_str(",ranks")?,
            Some(steps) => write!(f, ",ranks={steps}")?,
            None => {}
        }
        self.attention.map_or(Ok(()), |steps| write!(f, ",attention={steps}"))?;
        self.repeat.map_or(Ok(()), |steps| write!(f, ",repeat={steps}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in
            ["once", "none", "recompute=50,ranks=7", "none,attention,repeat=1000", "ranks", "repeat,none,ranks=3"]
        {
            let checks: Checks = text.parse().expect(text);
            assert_eq!(checks.to_string().parse(), Ok(checks), "{text}");
        }
    }
}
