//! The search beside every choice there is, on random steps.

use nanscope_tune::{Block, Holder, Mode, NODES_MAX, Region, Simulation, Storage, Trace, best, least, plan};
use proptest::prelude::*;

/// A block's forward pass: sizes of what it makes, each with whether it is kept for backward; whether its input is kept, too.
type Layer = (Vec<(u64, bool)>, bool);

/// A step of blocks in a row: each reads what the one before it gave; backward asks for what they kept, the last first.
fn step(layers: &[Layer]) -> Trace {
    let mut trace = Trace { resident: 100, seconds: 1.0, ..Trace::default() };
    let mut tick = 0;
    let mut next = || {
        tick += 1;
        tick - 1
    };
    let make = |trace: &mut Trace, bytes, born| {
        trace.storages.push(Storage { bytes, born, died: None });
        trace.storages.len() - 1
    };
    let keep = |storage, packed| Holder { storage: Some(storage), packed, unpacked: None, released: None };
    let mut input = make(&mut trace, 16, next());
    let mut members = Vec::new();
    for (block, (made, keeps_input)) in layers.iter().enumerate() {
        let begin = next();
        let mut own = Vec::new();
        if *keeps_input {
            own.push(trace.holders.len());
            trace.holders.push(keep(input, next()));
        }
        let mut last = input;
        for &(bytes, kept) in made {
            let storage = make(&mut trace, bytes, next());
            if kept {
                own.push(trace.holders.len());
                trace.holders.push(keep(storage, next()));
            }
            if last != input {
                trace.storages[last].died = Some(next());
            }
            last = storage;
        }
        trace.regions.push(Region { begin, end: next(), inputs: vec![input], block: Some(block) });
        trace.storages[input].died = Some(next());
        input = last;
        members.push(own);
        let seconds = 0.1 * (block % 3 + 1) as f64;
        trace.blocks.push(Block { name: format!("blocks.{block}"), class: format!("Block{block}"), seconds });
    }
    trace.storages[input].died = Some(next());
    for own in members.iter().rev() {
        for &holder in own.iter().rev() {
            trace.holders[holder].unpacked = Some(next());
            let gradient = make(&mut trace, 8, next());
            trace.holders[holder].released = Some(next());
            trace.storages[gradient].died = Some(next());
        }
    }
    trace.ticks = next();
    trace
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let made = prop::collection::vec((1..200u64, any::<bool>()), 1..6);
    prop::collection::vec((made, any::<bool>()), 2..8)
}

fn peak(simulation: &Simulation, chosen: impl Fn(usize) -> bool) -> u64 {
    simulation.peak(&simulation.modes(|b| if chosen(b) { Mode::Again } else { Mode::Kept })).bytes
}

proptest! {
    #[test]
    fn the_best_is_the_best_of_all_choices(layers in layers(), part in 0..=100u64) {
        let trace = step(&layers);
        let simulation = Simulation::new(&trace);
        let count = layers.len();
        let seconds: Vec<f64> = trace.blocks.iter().map(|block| block.seconds).collect();
        let peaks: Vec<u64> = (0..1usize << count).map(|set| peak(&simulation, |b| set >> b & 1 == 1)).collect();
        let cost = |set: usize| (0..count).filter(|b| set >> b & 1 == 1).map(|b| seconds[b]).sum::<f64>();
        let (low, high) = (*peaks.iter().min().unwrap(), *peaks.iter().max().unwrap());
        let limit = low + (high - low) * part / 100;
        let wanted = (0..peaks.len()).filter(|&set| peaks[set] <= limit).map(cost).fold(f64::INFINITY, f64::min);
        let found = best(&simulation, &seconds, limit, NODES_MAX).expect("the smallest peak is within the limit");
        prop_assert!(found.exact);
        prop_assert!((found.seconds - wanted).abs() < 1e-6, "found {found:?}, wanted {wanted}");
        prop_assert!(peak(&simulation, |b| found.blocks.contains(&b)) <= limit);
        if low > 0 {
            prop_assert_eq!(best(&simulation, &seconds, low - 1, NODES_MAX), None);
        }
        let (blocks, bytes) = least(&simulation, count);
        prop_assert_eq!(peak(&simulation, |b| blocks.contains(&b)), bytes);
        prop_assert!(bytes >= low);
    }

    #[test]
    fn what_is_open_bounds_every_decision_from_below(layers in layers(), set in any::<u8>(), open in any::<u8>()) {
        let simulation = Simulation::new(&step(&layers));
        let chosen = |b: usize| if set >> b & 1 == 1 { Mode::Again } else { Mode::Kept };
        let whole = simulation.peak(&simulation.modes(chosen)).bytes;
        let bound = simulation.peak(&simulation.modes(|b| if open >> b & 1 == 1 { Mode::Open } else { chosen(b) })).bytes;
        prop_assert!(bound <= whole);
    }

    #[test]
    fn the_front_falls(layers in layers()) {
        let trace = step(&layers);
        let planned = plan(&trace, &[2, 3], None);
        for pair in planned.front.windows(2) {
            prop_assert!(pair[0].cost.bytes < pair[1].cost.bytes && pair[0].cost.seconds > pair[1].cost.seconds);
        }
        prop_assert!(planned.exact.is_none());
    }
}

#[test]
fn a_step_by_hand() {
    // Input 16; each block keeps its input and what it makes first (100), and gives 10.
    let trace = step(&vec![(vec![(100, true), (10, false)], true); 3]);
    let simulation = Simulation::new(&trace);
    // None: the input, 3 times 100 kept, the outputs of the first two, and the last before it is let go of.
    assert_eq!(peak(&simulation, |_| false), 16 + 3 * 100 + 2 * 10 + 10);
    // All: inputs 16, 10, 10, one block at a time run again (100), a gradient of 8.
    assert_eq!(peak(&simulation, |_| true), 16 + 2 * 10 + 100 + 10);
    // Only the first: it is run again when the others have gone.
    assert_eq!(peak(&simulation, |b| b == 0), 16 + 2 * 100 + 2 * 10 + 10);
}

#[test]
fn many_equal_blocks_are_decided_at_once() {
    let trace = step(&vec![(vec![(1000, true), (10, false)], true); 64]);
    let planned = plan(
        &Trace { blocks: trace.blocks.iter().map(|b| Block { class: "Block".into(), ..b.clone() }).collect(), ..trace },
        &[2],
        Some(40_000),
    );
    let best = planned.settings.iter().find(|s| s.id == "best").unwrap();
    assert_eq!(planned.exact, Some(true));
    assert!(best.predicted.bytes <= 40_000);
    assert_eq!(best.blocks, Some((0..best.blocks.as_ref().unwrap().len()).collect()));
}

#[test]
fn what_the_program_checkpoints_itself_is_recognised() {
    let mut trace = step(&vec![(vec![(100, true), (10, false)], true); 4]);
    let own: Vec<Region> = [1, 3].iter().map(|&b| Region { block: None, ..trace.regions[b].clone() }).collect();
    trace.regions.extend(own);
    let planned = plan(&trace, &[2], None);
    let as_is = planned.settings.iter().find(|s| s.as_is).unwrap();
    assert_eq!((as_is.id.as_str(), as_is.blocks.as_deref()), ("as-is", Some(&[1, 3][..])));
    // A segment of two blocks is no choice of blocks, and costs what it keeps.
    let (first, last) = (trace.regions[0].clone(), trace.regions[1].clone());
    trace.regions.truncate(4);
    trace.regions.push(Region { block: None, end: last.end, ..first });
    let planned = plan(&trace, &[2], None);
    let as_is = planned.settings.iter().find(|s| s.as_is).unwrap();
    assert_eq!(as_is.blocks, None);
    assert!(as_is.predicted.bytes < planned.settings[0].predicted.bytes);
}
