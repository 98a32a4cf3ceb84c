use askama::Template;
use nanscope_lang::Lang;

use crate::{Cost, Tuned, text};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 58.0;
const LINE: f64 = 15.0; // height of a label
const GAP: f64 = 9.0; // from a point to its label
const KIB: f64 = 1024.0;

/// Peak memory against time of every setting, as SVG that follows the light or dark scheme of its reader: measured points, where they
/// were predicted, the predicted front, the limit.
pub fn plot(tuned: &Tuned, lang: Lang) -> String {
    let frame = Frame::of(tuned);
    let settings = &tuned.planned.settings;
    let places: Vec<(f64, f64)> = settings.iter().map(|s| frame.at(s.measured.unwrap_or(s.predicted))).collect();
    let predicted: Vec<(f64, f64)> = settings.iter().map(|s| frame.at(s.predicted)).collect();
    let names: Vec<String> = settings.iter().map(|setting| text::name(setting, lang)).collect();
    let stairs = front(tuned, &frame);
    let lines =
        stairs.windows(2).map(|pair| (pair[0], pair[1])).chain(places.iter().copied().zip(predicted.iter().copied()));
    let mut crowd: Vec<[f64; 4]> =
        places.iter().chain(&predicted).map(|&(x, y)| [x - 6.0, y - 6.0, x + 6.0, y + 6.0]).collect();
    crowd.extend(lines.flat_map(|(from, to)| along(from, to)));
    let labels = labels(&places, crowd, &names, tuned.limit.map(|limit| frame.y(limit as f64)));
    let points = settings.iter().zip(&places).zip(&predicted).zip(labels).map(|(((setting, at), predicted), label)| {
        let cost = setting.measured.unwrap_or(setting.predicted);
        Point {
            x: at.0,
            y: at.1,
            px: predicted.0,
            py: predicted.1,
            measured: setting.measured.is_some(),
            best: setting.id == "best",
            told: format!(
                "{}: {}, {}",
                text::name(setting, lang),
                text::bytes(cost.bytes),
                text::seconds(cost.seconds)
            ),
            label,
        }
    });
    let picture = Picture {
        title: lang.pick("Peak memory against time of one step", "한 스텝의 최대 메모리와 시간"),
        subtitle: format!("{}, {} × {}", tuned.script, tuned.blocks.len(), tuned.blocks[0].class),
        x_title: frame.time.title(lang.pick("time of a step", "한 스텝의 시간")),
        y_title: frame.memory.title(lang.pick("peak memory", "최대 메모리")),
        x_ticks: frame.time.ticks.iter().map(|&t| (frame.x(t), frame.time.written(t))).collect(),
        y_ticks: frame.memory.ticks.iter().map(|&t| (frame.y(t), frame.memory.written(t))).collect(),
        front: path(&stairs),
        limit: tuned
            .limit
            .map(|limit| (frame.y(limit as f64), format!("{} {}", lang.pick("limit", "한도"), text::bytes(limit)))),
        points: points.collect(),
        measured: lang.pick("measured", "측정"),
        predicted: lang.pick("predicted", "예측"),
        best_predicted: lang.pick("best predicted", "예측한 최선"),
        left: LEFT,
        right: WIDTH - RIGHT,
        top: TOP,
        bottom: HEIGHT - BOTTOM,
    };
    picture.render().expect("writing into a String does not fail")
}

#[derive(Template)]
#[template(path = "plot.svg")]
struct Picture {
    title: &'static str,
    subtitle: String,
    x_title: String,
    y_title: String,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    front: String,
    limit: Option<(f64, String)>,
    points: Vec<Point>,
    measured: &'static str,
    predicted: &'static str,
    best_predicted: &'static str,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

struct Point {
    x: f64,
    y: f64,
    px: f64,
    py: f64,
    measured: bool,
    best: bool,
    told: String,
    label: Label,
}

struct Label {
    text: String,
    x: f64,
    y: f64,                     // of the base line
    end: bool,                  // whether `x` is its end
    leader: Option<(f64, f64)>, // where a line from the point to it ends
}

struct Frame {
    time: Axis,
    memory: Axis,
}

impl Frame {
    fn of(tuned: &Tuned) -> Self {
        let settings = &tuned.planned.settings;
        let costs: Vec<Cost> = settings.iter().flat_map(|s| s.measured.into_iter().chain([s.predicted])).collect();
        let times = costs.iter().map(|cost| cost.seconds);
        let sizes = costs.iter().map(|cost| cost.bytes).chain(tuned.limit).map(|bytes| bytes as f64);
        let (time, memory) = (span(times), span(sizes));
        let unit = if time.1 < 1.0 { (1e-3, "ms") } else { (1.0, "s") };
        let power = (1..=3).rev().find(|&p| memory.1 >= KIB.powi(p)).unwrap_or(1);
        let size = (KIB.powi(power), ["KiB", "MiB", "GiB"][usize::try_from(power - 1).unwrap_or(0)]);
        Frame { time: Axis::new(time, unit), memory: Axis::new(memory, size) }
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + self.time.part(seconds) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, bytes: f64) -> f64 {
        HEIGHT - BOTTOM - self.memory.part(bytes) * (HEIGHT - TOP - BOTTOM)
    }

    fn at(&self, cost: Cost) -> (f64, f64) {
        (self.x(cost.seconds), self.y(cost.bytes as f64))
    }
}

/// Smallest and largest.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

struct Axis {
    low: f64,
    high: f64,
    unit: (f64, &'static str),
    step: f64, // in units
    ticks: Vec<f64>,
}

impl Axis {
    fn new((low, high): (f64, f64), unit: (f64, &'static str)) -> Self {
        let room = (high - low).max(high.abs() * 0.02).max(unit.0 * 1e-3) * 0.12;
        let (low, high) = ((low - room).max(0.0), high + room);
        let rough = (high - low) / unit.0 / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|by| by * power >= rough).unwrap_or(10.0);
        let first = (low / unit.0 / step).ceil();
        let ticks = (0..16).map(|n| (first + f64::from(n)) * step * unit.0).take_while(|&tick| tick <= high).collect();
        Axis { low, high, unit, step, ticks }
    }

    fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn written(&self, value: f64) -> String {
        let digits = if self.step >= 1.0 { 0 } else { (-self.step.log10()).ceil() as usize };
        format!("{:.digits$}", value / self.unit.0)
    }

    fn title(&self, what: &str) -> String {
        format!("{what} ({})", self.unit.1)
    }
}

/// Stairs through the predicted front: less memory only for more time.
fn front(tuned: &Tuned, frame: &Frame) -> Vec<(f64, f64)> {
    let inside = |at: &(f64, f64)| at.0 >= LEFT && at.0 <= WIDTH - RIGHT && at.1 >= TOP && at.1 <= HEIGHT - BOTTOM;
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    for (x, y) in tuned.planned.front.iter().rev().map(|point| frame.at(point.cost)).filter(inside) {
        stairs.extend(stairs.last().map(|&(_, before)| (x, before)));
        stairs.push((x, y));
    }
    stairs
}

fn path(points: &[(f64, f64)]) -> String {
    let letter = |at: usize| if at == 0 { 'M' } else { 'L' };
    points.iter().enumerate().map(|(at, (x, y))| format!("{}{x:.1} {y:.1}", letter(at))).collect()
}

/// Small boxes along a line.
fn along(from: (f64, f64), to: (f64, f64)) -> Vec<[f64; 4]> {
    let steps = ((to.0 - from.0).hypot(to.1 - from.1) / 6.0).ceil().max(1.0) as u32;
    let at = |n: u32| {
        let part = f64::from(n) / f64::from(steps);
        (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1))
    };
    (0..=steps).map(at).map(|(x, y)| [x - 3.0, y - 3.0, x + 3.0, y + 3.0]).collect()
}

/// A place for each label where it meets no other label, nothing of `taken` and not the limit, as near to its point as there is one.
fn labels(points: &[(f64, f64)], mut taken: Vec<[f64; 4]>, names: &[String], limit: Option<f64>) -> Vec<Label> {
    taken.extend(limit.map(|y| [LEFT, y - 2.0, WIDTH - RIGHT, y + 2.0]));
    taken.extend(limit.map(|y| [LEFT, y - 18.0, LEFT + 150.0, y])); // its own label
    let bounds = [LEFT + 2.0, TOP + 2.0, WIDTH - RIGHT - 2.0, HEIGHT - BOTTOM - 2.0];
    let mut found = Vec::new();
    for (&(x, y), name) in points.iter().zip(names) {
        let width = wide(name);
        let boxes = around(x, y, width);
        let free = |one: &&(f64, [f64; 4])| {
            let [left, top, right, bottom] = one.1;
            let within = left >= bounds[0] && top >= bounds[1] && right <= bounds[2] && bottom <= bounds[3];
            within && taken.iter().all(|t| left >= t[2] || right <= t[0] || top >= t[3] || bottom <= t[1])
        };
        let (_, place) = *boxes.iter().find(free).unwrap_or(&boxes[0]);
        let [left, top, right, bottom] = place;
        let end = right < x;
        let (near_x, near_y) = (x.clamp(left, right), y.clamp(top + 4.0, bottom - 4.0));
        let far = (near_x - x).hypot(near_y - y) > 2.0 * GAP;
        found.push(Label {
            text: name.clone(),
            x: if end { right } else { left },
            y: bottom - 4.0,
            end,
            leader: far.then_some((near_x, near_y)),
        });
        taken.push(place);
    }
    found
}

/// Boxes of a width around a point, the nearest first.
fn around(x: f64, y: f64, width: f64) -> Vec<(f64, [f64; 4])> {
    let mut boxes = Vec::new();
    for ring in 0..9 {
        let up = f64::from(ring) * LINE * 0.7;
        for dy in [-up, up] {
            for left in [x + GAP + up * 0.5, x - GAP - up * 0.5 - width, x - width / 2.0] {
                let top = y + dy - LINE / 2.0;
                let one = [left, top, left + width, top + LINE];
                let (dx, dy) = (x.clamp(one[0], one[2]) - x, y.clamp(one[1], one[3]) - y);
                boxes.push((dx.hypot(dy), one));
            }
        }
    }
    boxes.sort_by(|a, b| a.0.total_cmp(&b.0));
    boxes
}

/// Width of a label in its font, generously.
fn wide(text: &str) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 6.9 } else { 12.5 }).sum()
}
