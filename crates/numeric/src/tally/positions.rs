//! Counts how often each bit is set in many 32-bit numbers, with few instructions per register of them.
//!
//! Registers are added bit by bit, as in a tree of carry-save adders: the counts lie across registers, one for each power of
//! two. Muła, Kurz, Lemire, "Faster population counts using AVX2 instructions", 2018; by position: Klarqvist et al.,
//! "Efficient computation of positional population counts using SIMD instructions", 2021.

use super::vector::Vector;

/// Registers that are added at a time.
pub(super) const ROUND: usize = 8;

/// Rounds after which the counts must be brought home: as many as the levels can hold.
const MOST_ROUNDS: u32 = 1 << LEVELS;
const LEVELS: usize = 16;

/// Rounds that can be added between two calls of [`Positions::reserve`].
pub(super) const RESERVED_ROUNDS: u32 = 1 << (LEVELS - 1);

#[derive(Clone, Copy)]
pub(super) struct Positions<V> {
    /// Counts of 1, 2 and 4.
    low: [V; 3],
    /// Counts of 8 and up, each with one that waits for a second one to be added with.
    levels: [[V; 2]; LEVELS],
    /// Bit `i` says whether level `i` has one that waits.
    rounds: u32,
    home: [u64; 32],
}

impl<V: Vector> Positions<V> {
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: as the caller vouches for the instructions.
        let zero = unsafe { V::zero() };
        Positions { low: [zero; 3], levels: [[zero; 2]; LEVELS], rounds: 0, home: [0; 32] }
    }

    /// Makes room for [`RESERVED_ROUNDS`].
    #[inline(always)]
    pub(super) unsafe fn reserve(&mut self) {
        if self.rounds >= MOST_ROUNDS - RESERVED_ROUNDS {
            // SAFETY: as the caller vouches for the instructions.
            unsafe { self.bring_home() };
        }
    }

    #[inline(always)]
    pub(super) unsafe fn add(&mut self, x: [V; ROUND]) {
        // SAFETY: as the caller vouches for the instructions.
        unsafe {
            let [ones, twos, fours] = self.low;
            let (ones, a) = ones.full_add(x[0], x[1]);
            let (ones, b) = ones.full_add(x[2], x[3]);
            let (ones, c) = ones.full_add(x[4], x[5]);
            let (ones, d) = ones.full_add(x[6], x[7]);
            let (twos, a) = twos.full_add(a, b);
            let (twos, c) = twos.full_add(c, d);
            let (fours, mut carry) = fours.full_add(a, c);
            self.low = [ones, twos, fours];
            let mut level = 0;
            while self.rounds >> level & 1 == 1 {
                let [count, waiting] = self.levels[level];
                (self.levels[level][0], carry) = count.full_add(waiting, carry);
                level += 1;
            }
            self.levels[level][1] = carry;
            self.rounds += 1;
        }
    }

    /// How often each bit was set.
    pub(super) unsafe fn counts(&mut self) -> [u64; 32] {
        // SAFETY: as the caller vouches for the instructions.
        unsafe { self.bring_home() };
        self.home
    }

    unsafe fn bring_home(&mut self) {
        if self.rounds == 0 {
            return;
        }
        let mut add = |register: V, weight: u64| {
            for lane in register.lanes::<u32, 16>() {
                for (bit, count) in self.home.iter_mut().enumerate() {
                    *count += u64::from(lane >> bit & 1) * weight;
                }
            }
        };
        for (i, register) in self.low.into_iter().enumerate() {
            add(register, 1 << i);
        }
        for (i, [count, waiting]) in self.levels.into_iter().enumerate() {
            let weight = ROUND as u64 * (1 << i);
            if u64::from(self.rounds) * ROUND as u64 >= weight {
                add(count, weight);
            }
            if self.rounds >> i & 1 == 1 {
                add(waiting, weight);
            }
        }
        // SAFETY: as the caller vouches for the instructions.
        *self = Positions { home: self.home, ..unsafe { Positions::new() } };
    }
}

#[cfg(test)]
mod tests {
    use std::arch::x86_64::__m256i;

    use super::*;

    #[test]
    fn bits_are_counted_by_position_over_more_rounds_than_the_levels_hold() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        // SAFETY: the processor has the instructions.
        unsafe {
            let mut positions = Positions::<__m256i>::new();
            let mut expected = [0; 32];
            for round in 0..3 * RESERVED_ROUNDS + 5 {
                if round % RESERVED_ROUNDS == 0 {
                    positions.reserve();
                }
                let word = round.wrapping_mul(0x9e37_79b1);
                positions.add(std::array::from_fn(|i| __m256i::splat(if i % 2 == 0 { word } else { 1 } as i32)));
                for (bit, count) in expected.iter_mut().enumerate() {
                    *count += 32 * u64::from(word >> bit & 1);
                }
                expected[0] += 32;
            }
            assert_eq!(positions.counts(), expected);
        }
    }
}
