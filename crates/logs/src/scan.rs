//! A few bytes of a line at a time: no regular expression runs over a log.

/// A piece of a line that is read from the left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a>(pub(crate) &'a [u8]);

impl<'a> Scan<'a> {
    /// Passes over `literal`, which must come next.
    pub(crate) fn eat(&mut self, literal: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(())
    }

    /// Passes over everything up to the end of the next `literal`.
    pub(crate) fn skip_past(&mut self, literal: &[u8]) -> Option<()> {
        let at = memchr::memmem::find(self.0, literal)?;
        self.0 = &self.0[at + literal.len()..];
        Some(())
    }

    /// Spaces and tabs.
    pub(crate) fn spaces(&mut self) {
        let blank = self.0.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.0 = &self.0[blank..];
    }

    /// A decimal number that comes next.
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.digits(10)
    }

    /// A hexadecimal number that comes next, with or without `0x`.
    pub(crate) fn hex(&mut self) -> Option<u64> {
        let _ = self.eat(b"0x");
        self.digits(16)
    }

    fn digits(&mut self, radix: u32) -> Option<u64> {
        let (mut value, mut read) = (0u64, 0);
        for &byte in self.0 {
            let Some(digit) = (byte as char).to_digit(radix) else { break };
            value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
            read += 1;
        }
        self.0 = &self.0[read..];
        (read > 0).then_some(value)
    }

    /// Bytes up to the next one of `ends`, or to the end of the line.
    pub(crate) fn until(&mut self, ends: &[u8]) -> &'a [u8] {
        let end = self.0.iter().position(|byte| ends.contains(byte)).unwrap_or(self.0.len());
        let (head, tail) = self.0.split_at(end);
        self.0 = tail;
        head
    }
}

/// Text for a person: at most `most` bytes of it, control characters left out.
pub(crate) fn words(bytes: &[u8], most: usize) -> String {
    let cut = &bytes[..bytes.len().min(most)];
    let text = String::from_utf8_lossy(cut);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}
