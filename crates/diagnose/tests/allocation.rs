//! A monitor that has filled its buffers allocates nothing.
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use nanscope_diagnose::{Input, Monitor, Signals};
use nanscope_numeric::{Dtype, View};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller vouched.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouched.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_monitor_allocates_nothing() {
    let mut monitor = Monitor::new();
    let numbers: Vec<u8> = (0..600u32).flat_map(|at| (at as f32 * 0.37).sin().to_ne_bytes()).collect();
    let mut step = |at: u64| {
        let view = View::of_bytes(&numbers, Dtype::Float32);
        monitor
            .inputs(at, &[Input { slot: 0, view, shape: &[20, 30] }, Input { slot: 1, view, shape: &[2, 3, 10, 10] }]);
        let alarm = monitor.observe(&Signals {
            step: at,
            optimizer: (at % 2) as u32,
            loss: Some(1.0 + (at as f64).sin()),
            grad_norm: Some(2.0 + (at as f64).cos()),
            grad_max: Some(1.0),
            groups: &[1.0, 2.0, 3.0],
            tensors: 9,
            zeros: if at.is_multiple_of(3) { &[4, 7] } else { &[] },
            lr: Some(1e-3),
            scale: Some(f64::from(1u32 << (at / 50 % 16))),
            skipped: at.is_multiple_of(50),
            carried: false,
        });
        assert_eq!(alarm, None);
    };
    (0..2_000).for_each(&mut step);
    let before = ALLOCATIONS.get();
    (2_000..6_000).for_each(&mut step);
    assert_eq!(ALLOCATIONS.get(), before);
}
