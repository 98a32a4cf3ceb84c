//! Memory asked for before it is needed: hardware prefetchers stop at each 4 KiB page.

/// Bytes that come together.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Asks for so many bytes from an address, which may be any: nothing is read. Does nothing where there is no such instruction.
#[inline(always)]
pub(crate) fn prefetch(from: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this architecture has the instruction, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}
