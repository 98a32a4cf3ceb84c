use std::fs::File;
use std::io::{self, Write};

/// Where a log's bytes go. A file, or in tests something that fills up.
pub trait Sink {
    /// Appends all bytes, or fails after any part of them.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts everything after the first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Waits until everything is on the disk. Slow: milliseconds.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file must be open for appending: a write then goes to the end, also after a truncation.
impl Sink for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
