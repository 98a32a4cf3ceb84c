use std::collections::HashMap;

use crate::{Best, Cost, Mode, Planned, Point, Setting, Simulation, Trace, best, least, search::NODES_MAX};

const FRONT_POINTS: u64 = 16;
const FRONT_NODES: usize = 1000; // for each of them: a line of a plot need not be proved

/// What to run: none, all, every k-th for each of `every`, the program as it is, and the best below `limit` bytes at the peak. All with
/// the peak and the time that the trace predicts.
pub fn plan(trace: &Trace, every: &[u32], limit: Option<u64>) -> Planned {
    let simulation = Simulation::new(trace);
    let count = trace.blocks.len();
    let seconds = prices(trace);
    let cost = |blocks: &[usize]| {
        let modes = simulation.modes(|b| if blocks.contains(&b) { Mode::Again } else { Mode::Kept });
        Cost {
            bytes: trace.resident + simulation.peak(&modes).bytes,
            seconds: trace.seconds + blocks.iter().map(|&b| seconds[b]).sum::<f64>(),
        }
    };
    let setting = |id: String, blocks: Vec<usize>| Setting {
        id,
        predicted: cost(&blocks),
        blocks: Some(blocks),
        as_is: false,
        measured: None,
        parity: None,
        note: None,
    };
    let mut settings = vec![setting("none".into(), Vec::new()), setting("all".into(), (0..count).collect())];
    for &k in every.iter().filter(|&&k| k > 1) {
        settings.push(setting(format!("every-{k}"), (0..count).step_by(k as usize).collect()));
    }
    let below = |limit: u64, nodes: usize| {
        limit.checked_sub(trace.resident).and_then(|limit| best(&simulation, &seconds, limit, nodes))
    };
    let found: Option<Best> = limit.and_then(|limit| below(limit, NODES_MAX));
    if let Some(found) = &found {
        settings.push(setting("best".into(), found.blocks.clone()));
    }
    match checkpointed(trace) {
        Some(blocks) => match settings.iter_mut().find(|s| s.blocks.as_ref() == Some(&blocks)) {
            Some(same) => same.as_is = true,
            None => settings.push(Setting { as_is: true, ..setting("as-is".into(), blocks) }),
        },
        None => {
            let bytes = trace.resident + simulation.peak(&simulation.as_is()).bytes;
            let own = |region: &&crate::Region| region.block.is_none();
            let again: f64 = trace
                .regions
                .iter()
                .filter(own)
                .flat_map(|own| trace.regions.iter().filter(|r| r.begin >= own.begin && r.end <= own.end))
                .filter_map(|region| region.block)
                .map(|block| seconds[block])
                .sum();
            let predicted = Cost { bytes, seconds: trace.seconds + again };
            settings.push(Setting { blocks: None, as_is: true, predicted, ..setting("as-is".into(), Vec::new()) });
        }
    }
    let (blocks, bytes) = least(&simulation, count);
    let most = settings[0].predicted.bytes - trace.resident;
    let mut front = vec![Point { cost: cost(&blocks), blocks }];
    for at in 0..=FRONT_POINTS {
        let limit = bytes + (most.saturating_sub(bytes)) * at / FRONT_POINTS;
        front.extend(
            below(trace.resident + limit, FRONT_NODES)
                .map(|best| Point { cost: cost(&best.blocks), blocks: best.blocks }),
        );
    }
    front.sort_by(|a, b| a.cost.bytes.cmp(&b.cost.bytes).then(a.cost.seconds.total_cmp(&b.cost.seconds)));
    let mut fastest = f64::INFINITY;
    front.retain(|point| {
        let better = point.cost.seconds < fastest;
        fastest = fastest.min(point.cost.seconds);
        better
    });
    Planned { settings, front, exact: found.map(|found| found.exact), least: trace.resident + bytes }
}

/// Seconds of each block. Blocks of one class that keep as many tensors of as many bytes do the same work: what their times differ by is
/// noise, and all get the shortest.
fn prices(trace: &Trace) -> Vec<f64> {
    let work = |block: usize| {
        let regions = trace.regions.iter().filter(|region| region.block == Some(block));
        let kept = regions.flat_map(|r| trace.holders.iter().filter(|h| (r.begin..r.end).contains(&h.packed)));
        let (count, bytes) = kept.fold((0, 0), |(count, bytes), holder| {
            (count + 1, bytes + holder.storage.map_or(0, |at| trace.storages[at].bytes))
        });
        (trace.blocks[block].class.as_str(), count, bytes)
    };
    let works: Vec<(&str, usize, u64)> = (0..trace.blocks.len()).map(work).collect();
    let mut shortest: HashMap<_, f64> = HashMap::new();
    for (work, block) in works.iter().zip(&trace.blocks) {
        let seconds = shortest.entry(work).or_insert(f64::INFINITY);
        *seconds = seconds.min(block.seconds);
    }
    works.iter().map(|work| shortest[work]).collect()
}

/// Blocks that the program itself checkpoints, each by itself; None where it checkpoints something else.
fn checkpointed(trace: &Trace) -> Option<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    for own in trace.regions.iter().filter(|region| region.block.is_none()) {
        let inside = |r: &&crate::Region| r.block.is_some() && r.begin >= own.begin && r.end <= own.end;
        let mut blocks = trace.regions.iter().filter(inside);
        let block = blocks.next()?.block?;
        // What surrounds the call of the block makes no memory, or it is no checkpoint of the block alone.
        let whole = |s: &crate::Storage| (own.begin..own.end).contains(&s.born);
        let region = trace.regions.iter().find(|r| r.block == Some(block) && r.begin >= own.begin)?;
        let beside = trace.storages.iter().any(|s| whole(s) && !(region.begin..region.end).contains(&s.born));
        if blocks.next().is_some() || beside {
            return None;
        }
        if !found.contains(&block) {
            found.push(block);
        }
    }
    found.sort_unstable();
    Some(found)
}
