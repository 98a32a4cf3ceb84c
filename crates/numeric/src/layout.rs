//! Dimensions brought into the form in which memory is cheapest to read.

use std::mem::MaybeUninit;
use std::ops::ControlFlow;

/// Bytes a visitor sees at most in one block: half of a small first-level cache, so that a second look is cheap.
pub(crate) const BLOCK_BYTES: usize = 16 * 1024;

/// Bytes of the stack buffer through which strided memory is read.
const BUFFER_BYTES: usize = 4096;

/// Below this many numbers a contiguous run is copied into the buffer, to make fewer and larger blocks.
const SHORTEST_RUN: usize = 64;

/// Dimensions of size 2 and more cannot be more than this, as their product must fit an address.
const MAX_RANK: usize = 64;

/// In which order numbers are visited.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// Row-major over the logical shape, each number as often as the shape says.
    Logical,
    /// Ascending memory, each number of an expanded dimension once.
    Memory,
}

#[derive(Clone, Copy, Debug)]
struct Dim {
    size: usize,
    /// In numbers.
    stride: usize,
}

/// Merged dimensions, outermost first, of a view with at least one element.
pub(crate) struct Layout {
    dims: [Dim; MAX_RANK],
    rank: usize,
    repeat: u64,
}

impl Layout {
    /// `len` numbers side by side.
    pub(crate) fn flat(len: usize) -> Layout {
        let mut layout = Layout::scalar();
        layout.push(Dim { size: len, stride: 1 });
        layout
    }

    /// Shape and strides in elements of `parts` numbers each; no size is 0.
    pub(crate) fn strided(shape: &[usize], strides: &[usize], parts: usize, order: Order) -> Layout {
        let mut layout = Layout::scalar();
        for (&size, &stride) in shape.iter().zip(strides) {
            match (size, stride, order) {
                (1, ..) => {}
                (_, 0, Order::Memory) => layout.repeat *= size as u64,
                _ => layout.push(Dim { size, stride: stride * parts }),
            }
        }
        if order == Order::Memory {
            layout.dims[..layout.rank].sort_unstable_by_key(|dim| std::cmp::Reverse(dim.stride));
        }
        if parts > 1 {
            layout.push(Dim { size: parts, stride: 1 });
        }
        layout.merge();
        layout
    }

    /// How often each visited number counts.
    pub(crate) fn repeat(&self) -> u64 {
        self.repeat
    }

    /// Part `number` of `of` parts of about one size, and the offset of its first number; `None` where there are fewer numbers
    /// than parts. The parts in order are the whole where the longest dimension is the outermost one.
    pub(crate) fn part(mut self, number: usize, of: usize) -> Option<(usize, Layout)> {
        if of == 1 {
            return Some((0, self));
        }
        let Some(dim) = self.dims[..self.rank].iter_mut().rev().max_by_key(|dim| dim.size) else {
            return (number == 0).then_some((0, self));
        };
        // Parts of a contiguous run begin where a cache line may: at a multiple of 64 numbers.
        let grain = if dim.stride == 1 { 64 } else { 1 };
        let each = dim.size.div_ceil(of).next_multiple_of(grain);
        let first = number * each;
        dim.size = dim.size.checked_sub(first)?.min(each);
        let offset = first * dim.stride;
        (dim.size > 0).then_some((offset, self))
    }

    fn scalar() -> Layout {
        Layout { dims: [Dim { size: 1, stride: 1 }; MAX_RANK], rank: 0, repeat: 1 }
    }

    fn push(&mut self, dim: Dim) {
        self.dims[self.rank] = dim;
        self.rank += 1;
    }

    /// Joins a dimension with the one inside it where stepping over the inner one's end lands on the outer's next.
    fn merge(&mut self) {
        let mut rank = 0;
        for i in 0..self.rank {
            let inner = self.dims[i];
            match self.dims[..rank].last_mut() {
                Some(outer) if outer.stride == inner.size * inner.stride => {
                    *outer = Dim { size: outer.size * inner.size, stride: inner.stride };
                }
                _ => {
                    self.dims[rank] = inner;
                    rank += 1;
                }
            }
        }
        self.rank = rank;
    }

    /// Visits the numbers from `start` in blocks, until `visit` breaks.
    ///
    /// # Safety
    /// Every number the dimensions address must be readable; `start` need not be aligned.
    pub(crate) unsafe fn walk<T: Copy>(&self, start: *const T, mut visit: impl FnMut(&[T]) -> ControlFlow<()>) {
        let (outer, inner) = match self.dims[..self.rank].split_last() {
            Some((inner, outer)) => (outer, *inner),
            None => (&[][..], Dim { size: 1, stride: 1 }),
        };
        let in_place = inner.stride == 1 && start.is_aligned() && (outer.is_empty() || inner.size >= SHORTEST_RUN);
        // SAFETY (both arms): the offsets are those of the dimensions, which the caller vouched for.
        let _ = if in_place {
            for_each_offset(outer, |offset| {
                // SAFETY: contiguous, aligned, and vouched for by the caller.
                let run = unsafe { std::slice::from_raw_parts(start.add(offset), inner.size) };
                run.chunks(BLOCK_BYTES / size_of::<T>()).try_for_each(&mut visit)
            })
        } else {
            // SAFETY: as the caller vouched.
            unsafe { gather(outer, inner, start, &mut visit) }
        };
    }
}

/// Copies strided or unaligned numbers into a buffer on the stack and visits it whenever it is full.
///
/// # Safety
/// As for [`Layout::walk`].
unsafe fn gather<T: Copy>(
    outer: &[Dim],
    inner: Dim,
    start: *const T,
    visit: &mut impl FnMut(&[T]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    // One spelling for all widths: 4 KiB is 512 of the widest number.
    const CAPACITY: usize = BUFFER_BYTES / 8;
    let mut buffer = [MaybeUninit::<T>::uninit(); CAPACITY];
    let mut filled = 0;
    for_each_offset(outer, |offset| {
        let mut next = start.wrapping_add(offset);
        let mut left = inner.size;
        while left > 0 {
            let taken = left.min(CAPACITY - filled);
            for slot in &mut buffer[filled..filled + taken] {
                // SAFETY: within the dimensions that the caller vouched for.
                slot.write(unsafe { next.read_unaligned() });
                next = next.wrapping_add(inner.stride);
            }
            filled += taken;
            left -= taken;
            if filled == CAPACITY {
                // SAFETY: all of it was written.
                visit(unsafe { written(&buffer) })?;
                filled = 0;
            }
        }
        ControlFlow::Continue(())
    })?;
    if filled == 0 {
        return ControlFlow::Continue(());
    }
    // SAFETY: so many were written since the buffer was last visited.
    visit(unsafe { written(&buffer[..filled]) })
}

/// # Safety
/// Every slot must have been written.
unsafe fn written<T>(slots: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the caller wrote every slot.
    unsafe { std::slice::from_raw_parts(slots.as_ptr().cast(), slots.len()) }
}

/// Calls `visit` with the offset of every combination of indices, row-major, until it breaks.
fn for_each_offset(dims: &[Dim], mut visit: impl FnMut(usize) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut index = [0usize; MAX_RANK];
    let mut offset = 0;
    loop {
        visit(offset)?;
        let mut axis = dims.len();
        loop {
            if axis == 0 {
                return ControlFlow::Continue(());
            }
            axis -= 1;
            index[axis] += 1;
            offset += dims[axis].stride;
            if index[axis] < dims[axis].size {
                break;
            }
            offset -= dims[axis].size * dims[axis].stride;
            index[axis] = 0;
        }
    }
}
