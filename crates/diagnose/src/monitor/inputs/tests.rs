use nanscope_numeric::Dtype;
use nanscope_trace::schema::{Constant, Odd};
use proptest::prelude::*;

use super::*;
use crate::monitor::Monitor;

fn give(monitor: &mut Monitor, step: u64, shape: &[usize], numbers: &[f32]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    monitor.inputs(step, &[Input { slot: 0, view: View::of_bytes(&bytes, Dtype::Float32), shape }]);
}

fn only(monitor: &Monitor) -> InputHistory {
    let [input] = &monitor.history().inputs[..] else { panic!("one input") };
    input.clone()
}

/// Batches of 4 samples with 3 features: -1 to 1, constant 5, 0 to 100.
fn batch(step: u64) -> [f32; 12] {
    std::array::from_fn(|at| match at % 3 {
        0 => ((step as f32 + at as f32) * 0.7).sin(),
        1 => 5.0,
        _ => 50.0 + 50.0 * (step as f32 * 1.3 + at as f32).cos(),
    })
}

#[test]
fn an_odd_element_is_named_with_what_came_before() {
    let mut monitor = Monitor::new();
    for step in 0..20 {
        let mut numbers = batch(step);
        if step == 19 {
            numbers[2 * 3] = -8.0e6;
        }
        give(&mut monitor, step, &[4, 3], &numbers);
    }
    let input = only(&monitor);
    let [odd] = &input.odd[..] else { panic!("{input:?}") };
    assert_eq!((odd.step, odd.sample, odd.feature, odd.value), (19, Some(2), Some(0), -8.0e6));
    assert!(odd.low.unwrap() >= -1.0 && odd.high.unwrap() <= 1.0, "the batch itself is not among those before it");
    assert_eq!(input.constant, [Constant { feature: 1, value: 5.0 }]);
    assert!((60.0..100.0).contains(&input.median.unwrap()) && input.mad.unwrap() < 0.1, "{input:?}");
    assert!(input.high.unwrap().0 <= 100.0 && input.batches == 20 && input.recent.len() == 20);
    assert_eq!(input.recent[19].largest(), Some(8.0e6));
}

#[test]
fn the_features_of_images_are_their_channels() {
    let mut monitor = Monitor::new();
    let mut numbers = vec![0.5f32; 2 * 3 * 4 * 4];
    give(&mut monitor, 0, &[2, 3, 4, 4], &numbers);
    numbers[(3 + 1) * 16 + 7] = 65535.0;
    give(&mut monitor, 1, &[2, 3, 4, 4], &numbers);
    let odd = Odd { step: 1, sample: Some(1), feature: Some(1), value: 65535.0, low: Some(0.5), high: Some(0.5) };
    assert_eq!(only(&monitor).odd, [odd]);
}

#[test]
fn inputs_of_changing_length_have_one_range() {
    let mut monitor = Monitor::new();
    for step in 0..6 {
        let length = 5 + step as usize % 3;
        let mut numbers = vec![0.5f32; 2 * length];
        if step == 5 {
            numbers[length + 1] = 1e9;
        }
        give(&mut monitor, step, &[2, length], &numbers);
    }
    let odd = Odd { step: 5, sample: Some(1), feature: None, value: 1e9, low: Some(0.5), high: Some(0.5) };
    assert_eq!(only(&monitor).odd, [odd]);
}

#[test]
fn a_first_batch_is_measured_against_itself() {
    let mut monitor = Monitor::new();
    let mut numbers = batch(0);
    numbers[10] = 1e12;
    give(&mut monitor, 0, &[4, 3], &numbers);
    let odd = Odd { step: 0, sample: Some(3), feature: Some(1), value: f64::from(1e12f32), low: None, high: None };
    assert_eq!(only(&monitor).odd, [odd]);
}

#[test]
fn rare_flags_and_growing_ranges_are_not_odd() {
    let mut monitor = Monitor::new();
    for step in 0..50u64 {
        let flag = if step == 40 { 1.0 } else { 0.0 };
        give(&mut monitor, step, &[2, 2], &[flag, 0.3 + step as f32, 0.0, -2.0]);
    }
    assert_eq!(only(&monitor).odd, []);
}

#[test]
fn labels_have_a_range_and_nothing_else() {
    let mut monitor = Monitor::new();
    for step in 0..3i64 {
        let bytes: Vec<u8> = [0i64, 9, step, 1_000_000 * step].iter().flat_map(|x| x.to_ne_bytes()).collect();
        monitor.inputs(step as u64, &[Input { slot: 2, view: View::of_bytes(&bytes, Dtype::Int64), shape: &[4] }]);
    }
    monitor.name_inputs(vec!["x".into(), "mask".into(), "argument y of loss".into()]);
    let input = only(&monitor);
    assert_eq!((input.slot, input.name.as_deref(), &input.dtype[..]), (2, Some("argument y of loss"), "int64"));
    assert_eq!((input.low.unwrap().0, input.high.unwrap().0), (0.0, 1e6));
    assert_eq!((&input.odd[..], &input.constant[..], &input.shape[..]), (&[][..], &[][..], &[4][..]));
}

#[test]
fn any_shape_is_taken() {
    let mut monitor = Monitor::new();
    for shape in [&[12][..], &[], &[2, 6], &[12, 1], &[1, 12], &[3, 4], &[1, 2, 2, 3, 1, 1], &[0, 3]] {
        let elements = shape.iter().product();
        let mut numbers = vec![f32::NAN; elements];
        for step in 0..3 {
            give(&mut monitor, step, shape, &numbers);
            numbers.fill(10f32.powi(8 * step as i32));
        }
    }
    assert!(only(&monitor).batches > 10);
}

proptest! {
    #[test]
    fn memory_is_bounded_and_ranges_are_those_of_all_batches_before(
        batches in prop::collection::vec(prop::collection::vec(-1e6..1e6f32, 6), 2..60),
    ) {
        let mut monitor = Monitor::new();
        for (step, numbers) in batches.iter().enumerate() {
            give(&mut monitor, step as u64, &[3, 2], numbers);
        }
        let input = only(&monitor);
        let before = batches[..batches.len() - 1].iter().flatten().map(|x| f64::from(*x));
        prop_assert_eq!(input.low.unwrap().0, before.clone().fold(f64::INFINITY, f64::min));
        prop_assert_eq!(input.high.unwrap().0, before.fold(f64::NEG_INFINITY, f64::max));
        prop_assert!(input.recent.len() <= 32 && input.odd.len() <= 8 && input.constant.len() <= 8);
        let json = serde_json::to_string(&input).unwrap();
        prop_assert_eq!(serde_json::from_str::<InputHistory>(&json).unwrap(), input);
    }
}
