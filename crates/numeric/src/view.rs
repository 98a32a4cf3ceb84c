//! A strided tensor in memory, borrowed.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::dtype::Dtype;
use crate::layout::{Layout, Order};

/// A read-only strided tensor. A tensor with no elements may have a null pointer.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    start: *const u8,
    dtype: Dtype,
    extent: Extent<'a>,
    memory: PhantomData<&'a [u8]>,
}

#[derive(Clone, Copy, Debug)]
enum Extent<'a> {
    /// So many elements side by side.
    Flat(usize),
    /// Sizes, and strides in elements, outermost dimension first.
    Strided(&'a [usize], &'a [usize]),
}

// SAFETY: a view only reads, as a shared slice does.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// A view of `shape` (elements) with `strides` (in elements, 0 for an expanded dimension), outermost first.
    ///
    /// # Panics
    /// When `shape` and `strides` differ in length.
    ///
    /// # Safety
    /// Every element that shape and strides address from `start` must be readable for `'a`. `start` need not be
    /// aligned. Memory that another thread writes meanwhile gives numbers that belong to neither state.
    pub unsafe fn new(start: *const u8, dtype: Dtype, shape: &'a [usize], strides: &'a [usize]) -> View<'a> {
        assert_eq!(shape.len(), strides.len(), "one stride per dimension");
        View { start, dtype, extent: Extent::Strided(shape, strides), memory: PhantomData }
    }

    /// A view of `len` elements side by side, of whatever shape.
    ///
    /// # Safety
    /// As for [`View::new`].
    pub unsafe fn contiguous(start: *const u8, dtype: Dtype, len: usize) -> View<'a> {
        View { start, dtype, extent: Extent::Flat(len), memory: PhantomData }
    }

    /// The elements that fill `bytes`, whose alignment does not matter; a last incomplete one is left out.
    pub fn of_bytes(bytes: &'a [u8], dtype: Dtype) -> View<'a> {
        // SAFETY: the elements lie within the borrowed slice.
        unsafe { View::contiguous(bytes.as_ptr(), dtype, bytes.len() / dtype.size()) }
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Number of elements; expanded ones count as often as they are seen.
    pub fn len(&self) -> usize {
        match self.extent {
            Extent::Flat(len) => len,
            Extent::Strided(shape, _) => shape.iter().product(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a row-major index; the real part of a complex element.
    ///
    /// # Panics
    /// When the index is not below [`View::len`].
    pub fn get(&self, index: usize) -> f64 {
        assert!(index < self.len(), "index {index} of {} elements", self.len());
        let mut offset = index;
        if let Extent::Strided(shape, strides) = self.extent {
            let mut rest = index;
            offset = 0;
            for (&size, &stride) in shape.iter().zip(strides).rev() {
                offset += rest % size * stride;
                rest /= size;
            }
        }
        let size = self.dtype.part().size();
        let start = self.start.wrapping_add(offset * self.dtype.size());
        // SAFETY: whoever made the view vouched for every element, and this is one of them.
        self.dtype.decode(unsafe { std::slice::from_raw_parts(start, size) })
    }

    /// Calls `visit` with one block of numbers after another until it breaks; the parts of a complex element are two
    /// numbers. Returns how often each number counts (more than once for expanded memory in [`Order::Memory`]).
    ///
    /// Allocates nothing: blocks are the memory itself, or a buffer on the stack where it is strided or unaligned.
    pub(crate) fn blocks<T: Copy>(&self, order: Order, visit: impl FnMut(&[T]) -> ControlFlow<()>) -> u64 {
        self.blocks_of(order, 0, 1, visit)
    }

    /// As [`blocks`](View::blocks), for part `number` of `of` parts into which the numbers are divided.
    pub(crate) fn blocks_of<T: Copy>(
        &self,
        order: Order,
        number: usize,
        of: usize,
        visit: impl FnMut(&[T]) -> ControlFlow<()>,
    ) -> u64 {
        assert_eq!(size_of::<T>(), self.dtype.part().size(), "storage of {}", self.dtype.name());
        if self.is_empty() {
            return 1;
        }
        let parts = self.dtype.parts();
        let layout = match self.extent {
            Extent::Flat(len) => Layout::flat(len * parts),
            Extent::Strided(shape, strides) => Layout::strided(shape, strides, parts, order),
        };
        let repeat = layout.repeat();
        if let Some((offset, layout)) = layout.part(number, of) {
            let start = self.start.cast::<T>().wrapping_add(offset);
            // SAFETY: whoever made the view vouched for every element, and a complex element is two numbers side by side.
            unsafe { layout.walk(start, visit) };
        }
        repeat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(view: &View, order: Order) -> (Vec<f32>, u64) {
        let mut seen = Vec::new();
        let repeat = view.blocks::<f32>(order, |block| {
            seen.extend_from_slice(block);
            ControlFlow::Continue(())
        });
        (seen, repeat)
    }

    fn view<'a>(data: &'a [f32], shape: &'a [usize], strides: &'a [usize]) -> View<'a> {
        // SAFETY: each caller stays inside `data`.
        unsafe { View::new(data.as_ptr().cast(), Dtype::Float32, shape, strides) }
    }

    #[test]
    fn a_transposed_view_is_row_major_in_logical_order_and_flat_in_memory_order() {
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let transposed = view(&data, &[3, 2], &[1, 3]);
        assert_eq!(numbers(&transposed, Order::Logical), (vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0], 1));
        assert_eq!(numbers(&transposed, Order::Memory), (data.to_vec(), 1));
    }

    #[test]
    fn expanded_memory_is_read_once_and_counts_often() {
        let expanded = view(&[7.0, 8.0], &[3, 2, 4], &[0, 1, 0]);
        assert_eq!(numbers(&expanded, Order::Memory), (vec![7.0, 8.0], 12));
        assert_eq!(numbers(&expanded, Order::Logical).0, [[7.0; 4], [8.0; 4]].concat().repeat(3));
    }

    #[test]
    fn an_element_is_found_by_its_row_major_index() {
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let transposed = view(&data, &[3, 2], &[1, 3]);
        assert_eq!((0..6).map(|index| transposed.get(index)).collect::<Vec<_>>(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(view(&[7.0], &[], &[]).get(0), 7.0);
    }

    #[test]
    fn empty_and_zero_dimensional_views() {
        assert_eq!(numbers(&view(&[], &[3, 0], &[1, 1]), Order::Memory).0, [0.0; 0]);
        assert_eq!(numbers(&view(&[5.0], &[], &[]), Order::Memory), (vec![5.0], 1));
    }

    #[test]
    fn unaligned_memory_is_read_through_the_buffer() {
        let bytes: Vec<u8> = [0u8].into_iter().chain([1f32, 2.0].iter().flat_map(|x| x.to_ne_bytes())).collect();
        assert_eq!(numbers(&View::of_bytes(&bytes[1..], Dtype::Float32), Order::Logical).0, [1.0, 2.0]);
    }
}
