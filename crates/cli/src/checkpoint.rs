use crate::{Color, Lang};

/// A script or a module whose checkpointing is to be tuned. Exactly one of `script` and `module` is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Path of the script.
    pub script: Option<String>,
    /// Name of the module, as for `python -m`.
    pub module: Option<String>,
    /// The script's own arguments, as they were given.
    pub args: Vec<String>,
    /// Bytes that the peak may have.
    pub limit: Option<u64>,
    /// Steps completed before the one to look at.
    pub step: u32,
    /// Show every so-many-th block checkpointed.
    pub every: Vec<u32>,
    /// Id of the setting whose diff is wanted.
    pub setting: Option<String>,
    /// `text` or `json`.
    pub format: String,
    /// The run folder to make.
    pub out: Option<String>,
    /// Seconds for the proof of the diff.
    pub budget: u32,
    /// When to write colour.
    pub color: Color,
    /// Language of what is said.
    pub lang: Lang,
}

/// A size as it is written: `512MiB`, `1.5GB`, `4096`. Units of 1024 have an i, those of 1000 have none.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size as 512MiB, 1.5GB or a number of bytes, got {text}");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_lowercase();
    let power = |base: f64, letter: char| "kmgt".find(letter).map(|at| base.powi(at as i32 + 1));
    let by = match unit.trim_end_matches('b').as_bytes() {
        [] => Some(1.0),
        [letter] => power(1000.0, char::from(*letter)),
        [letter, b'i'] => power(1024.0, char::from(*letter)),
        _ => None,
    };
    let bytes = (number * by.ok_or_else(wrong)?).round();
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert_eq!(size("1.5GiB"), Ok(3 << 29));
        assert_eq!(size("2gb"), Ok(2_000_000_000));
        assert_eq!(size("7 kib"), Ok(7 << 10));
        for wrong in ["", "MiB", "12XB", "0", "1.2.3", "-4", "5 apples"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
