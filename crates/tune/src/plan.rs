use std::collections::HashMap;

use crate::{Best, Block, Cost, Mode, Planned, Point, Setting, Simulation, Trace, best, least};

const FRONT_POINTS: u64 = 16;

/// What to run: none, all, every k-th for each of `every`, the program as it is, and the best below `limit` bytes at the peak. All with
/// the peak and the time that the trace predicts.
pub fn plan(trace: &Trace, every: &[u32], limit: Option<u64>) -> Planned {
    let simulation = Simulation::new(trace);
    let count = trace.blocks.len();
    let seconds = prices(&trace.blocks);
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
    let below = |limit: u64| limit.checked_sub(trace.resident).and_then(|limit| best(&simulation, &seconds, limit));
    let found: Option<Best> = limit.and_then(below);
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
        front.extend(below(trace.resident + limit).map(|best| Point { cost: cost(&best.blocks), blocks: best.blocks }));
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

/// Seconds of each block. Blocks of one class that differ by less than noise get the median of their class.
fn prices(blocks: &[Block]) -> Vec<f64> {
    let mut of: HashMap<&str, Vec<f64>> = HashMap::new();
    for block in blocks {
        of.entry(&block.class).or_default().push(block.seconds);
    }
    let middle: HashMap<&str, f64> = of
        .into_iter()
        .map(|(class, mut seconds)| {
            seconds.sort_by(f64::total_cmp);
            (class, seconds[seconds.len() / 2])
        })
        .collect();
    let near = |a: f64, b: f64| a < 1.5 * b && b < 1.5 * a;
    let price = |block: &Block| {
        let middle = middle[block.class.as_str()];
        if near(block.seconds, middle) { middle } else { block.seconds }
    };
    blocks.iter().map(price).collect()
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
