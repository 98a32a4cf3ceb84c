use memchr::memchr;

/// Bytes of a line that are looked at; what follows them is passed over.
pub(crate) const LINE_BYTES: usize = 1 << 14;

/// Cuts a stream of bytes into lines, however it is chunked. Memory is that of one line of 16 KiB.
#[derive(Debug, Default)]
pub struct Lines {
    carry: Vec<u8>,
    open: bool,
    cut: bool,
    /// Lines that were longer than what is looked at.
    pub long: u64,
}

impl Lines {
    /// Takes the next bytes and hands over each line that they end, without its line break.
    pub fn push(&mut self, mut chunk: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (head, tail) = chunk.split_at(end);
            if self.open {
                self.keep(head);
                self.finish(&mut line);
            } else {
                self.long += u64::from(head.len() > LINE_BYTES);
                line(trimmed(&head[..head.len().min(LINE_BYTES)]));
            }
            chunk = &tail[1..];
        }
        if !chunk.is_empty() {
            self.keep(chunk);
        }
    }

    /// The stream is over: hands over a last line without a break.
    pub fn end(&mut self, mut line: impl FnMut(&[u8])) {
        if self.open {
            self.finish(&mut line);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.carry.len();
        self.carry.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.cut |= bytes.len() > room;
        self.open = true;
    }

    fn finish(&mut self, line: &mut impl FnMut(&[u8])) {
        self.long += u64::from(self.cut);
        line(trimmed(&self.carry));
        self.carry.clear();
        (self.open, self.cut) = (false, false);
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &[u8], size: usize) -> (Vec<Vec<u8>>, u64) {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in text.chunks(size) {
            lines.push(chunk, |line| found.push(line.to_vec()));
        }
        lines.end(|line| found.push(line.to_vec()));
        (found, lines.long)
    }

    #[test]
    fn chunks_do_not_matter() {
        let mut text = b"one\r\n\ntwo\n".to_vec();
        text.extend(vec![b'x'; LINE_BYTES + 5]);
        text.extend(b"\n");
        text.extend(vec![b'y'; LINE_BYTES]);
        text.extend(b"\nlast");
        let whole = cut(&text, text.len());
        assert_eq!(whole.0.len(), 6);
        assert_eq!((whole.0[0].as_slice(), whole.0[5].as_slice(), whole.1), (&b"one"[..], &b"last"[..], 1));
        for size in [1, 2, 7, 4096, LINE_BYTES, LINE_BYTES + 1] {
            assert_eq!(cut(&text, size), whole, "{size}");
        }
    }
}
