//! Frames: the bytes of a log, apart from any IO. All numbers are little-endian.
//!
//! ```text
//! file header, 12 bytes           frame header, 12 bytes
//!  0  8  magic "NANSCOPE"          0  4  u32 length of the payload in bytes
//!  8  2  u16 format version        4  1  u8 kind
//! 10  2  reserved, 0               5  3  reserved, 0
//!                                  8  4  u32 CRC-32 (IEEE) of bytes 0..8 and the payload
//!                                 12  .  payload
//! ```

/// First bytes of every log.
pub const MAGIC: [u8; 8] = *b"NANSCOPE";
/// Format that this version writes, and the newest it reads.
pub const VERSION: u16 = 1;
/// Bytes of the file header.
pub const FILE_HEADER: usize = 12;
/// Bytes before a frame's payload.
pub const FRAME_HEADER: usize = 12;

/// What a frame holds. Readers keep kinds that they do not know as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// [`crate::RunInfo`] as JSON; the first frame.
    RunInfo = 1,
    /// [`crate::StepRecord`] in the layout of [`crate::step`].
    Step = 2,
    /// [`crate::Trip`] as JSON.
    Trip = 3,
    /// [`crate::Ledger`] as JSON.
    Ledger = 4,
    /// [`crate::End`] as JSON.
    End = 5,
    /// [`crate::Note`] as JSON.
    Note = 6,
    /// [`crate::Outcomes`] as JSON.
    Outcomes = 7,
    /// [`crate::Skip`] as JSON.
    Skip = 8,
}

impl Kind {
    /// The kind with this number, if this version knows it.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        use Kind::*;
        [RunInfo, Step, Trip, Ledger, End, Note, Outcomes, Skip].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The file header of the current version.
pub fn file_header() -> [u8; FILE_HEADER] {
    let mut bytes = [0; FILE_HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// The header of a frame with this payload; absent when the payload's length does not fit 32 bits.
pub fn frame_header(kind: Kind, payload: &[u8]) -> Option<[u8; FRAME_HEADER]> {
    let length = u32::try_from(payload.len()).ok()?;
    let mut bytes = [0; FRAME_HEADER];
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4] = kind as u8;
    let check = checksum(&bytes, payload);
    bytes[8..].copy_from_slice(&check.to_le_bytes());
    Some(bytes)
}

/// Length of the payload that a frame header announces. Not to be trusted before the checksum is.
pub fn payload_length(header: &[u8; FRAME_HEADER]) -> u32 {
    u32::from_le_bytes([header[0], header[1], header[2], header[3]])
}

/// True when header and payload are those that were written.
pub fn is_whole(header: &[u8; FRAME_HEADER], payload: &[u8]) -> bool {
    header[8..] == checksum(header, payload).to_le_bytes()
}

// The length is covered too: a payload cut or stretched by a flipped length is never taken for a record.
fn checksum(header: &[u8; FRAME_HEADER], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..8]);
    hasher.update(payload);
    hasher.finalize()
}
