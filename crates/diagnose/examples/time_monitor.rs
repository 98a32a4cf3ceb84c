//! Prints what the monitor costs per step: of a healthy run, of one with 100 dead parameters, and of a batch of inputs.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use nanscope_diagnose::{Input, Monitor, Signals};
use nanscope_numeric::{Dtype, View};

const STEPS: u64 = 1_000_000;

fn main() {
    let dead: Vec<u32> = (0..100).collect();
    for (name, zeros) in [("healthy", &[][..]), ("100 zero gradients", &dead)] {
        let mut monitor = Monitor::new();
        let start = Instant::now();
        for step in 0..STEPS {
            let noise = 1.0 + (step % 17) as f64 / 17.0;
            monitor.observe(&Signals {
                step,
                loss: Some(0.7 * noise),
                grad_norm: Some(0.2 / noise),
                grad_max: Some(0.1),
                groups: &[0.1, 0.1],
                tensors: 200,
                zeros,
                lr: Some(1e-3),
                scale: Some(65536.0),
                ..Signals::default()
            });
        }
        println!("{name}: {:.0} ns a step", start.elapsed().as_nanos() as f64 / STEPS as f64);
    }
    for shape in [&[64, 784][..], &[32, 3, 224, 224]] {
        let elements: usize = shape.iter().product();
        let bytes: Vec<u8> = (0..elements).flat_map(|at| ((at % 1000) as f32).to_ne_bytes()).collect();
        let mut monitor = Monitor::new();
        let start = Instant::now();
        let steps = (2e8 / elements as f64) as u64;
        for step in 0..steps {
            monitor.inputs(step, &[Input { slot: 0, view: View::of_bytes(&bytes, Dtype::Float32), shape }]);
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / steps as f64;
        println!("input {shape:?}: {micros:.0} us a batch, {:.1} GB/s", bytes.len() as f64 / micros / 1e3);
    }
}
