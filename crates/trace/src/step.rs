//! The bytes of a [`StepRecord`]: 68, so that a healthy step costs 80 with its frame.
//!
//! ```text
//!  0  8  u64 step                 40  8  f64 grad_max
//!  8  8  u64 nanos                48  8  f64 scale
//! 16  8  u64 watch_nanos          56  8  f64 lr
//! 24  8  f64 loss                 64  1  u8 present: bit 0 loss, 1 grad_norm, 2 grad_max, 3 scale, 4 lr
//! 32  8  f64 grad_norm            65  1  u8 skipped: 0 or 1
//!                                 66  2  reserved, 0
//! ```
//!
//! A number that is absent has its bit clear and eight zero bytes; NaN is a value like any other, kept to the bit.
//! Bytes after the 68th are for later versions and are ignored.

use crate::schema::StepRecord;

/// Bytes of a step record, without its frame.
pub const STEP_BYTES: usize = 68;

/// The record as bytes. Allocates nothing.
pub fn encode(record: &StepRecord) -> [u8; STEP_BYTES] {
    let StepRecord { step, nanos, watch_nanos, loss, grad_norm, grad_max, scale, lr, skipped } = *record;
    let mut bytes = [0; STEP_BYTES];
    for (i, count) in [step, nanos, watch_nanos].into_iter().enumerate() {
        bytes[8 * i..][..8].copy_from_slice(&count.to_le_bytes());
    }
    for (i, number) in [loss, grad_norm, grad_max, scale, lr].into_iter().enumerate() {
        if let Some(x) = number {
            bytes[24 + 8 * i..][..8].copy_from_slice(&x.to_le_bytes());
            bytes[64] |= 1 << i;
        }
    }
    bytes[65] = skipped.into();
    bytes
}

/// The record in these bytes; absent when there are fewer than [`STEP_BYTES`].
pub fn decode(bytes: &[u8]) -> Option<StepRecord> {
    let bytes = bytes.first_chunk::<STEP_BYTES>()?;
    let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
    let number = |i: usize| (bytes[64] >> i & 1 == 1).then(|| f64::from_bits(word(3 + i)));
    Some(StepRecord {
        step: word(0),
        nanos: word(1),
        watch_nanos: word(2),
        loss: number(0),
        grad_norm: number(1),
        grad_max: number(2),
        scale: number(3),
        lr: number(4),
        skipped: bytes[65] & 1 == 1,
    })
}
