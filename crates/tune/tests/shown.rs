//! What a person sees: the table and the plot, in both languages.

use nanscope_lang::Lang;
use nanscope_tune::{Block, Cost, Parity, Planned, Point, Setting, Tuned, bytes, plot, text};

const MIB: u64 = 1 << 20;

fn cost(mib: u64, ms: f64) -> Cost {
    Cost { bytes: mib * MIB, seconds: ms / 1e3 }
}

fn setting(id: &str, blocks: &[usize], predicted: Cost, measured: Cost) -> Setting {
    Setting {
        id: id.into(),
        blocks: Some(blocks.to_vec()),
        as_is: id == "none",
        predicted,
        measured: Some(measured),
        parity: Some(Parity::Identical),
        note: None,
    }
}

fn tuned() -> Tuned {
    let settings = vec![
        setting("none", &[], cost(512, 100.0), cost(513, 100.0)),
        setting("all", &[0, 1, 2, 3], cost(200, 132.0), cost(203, 135.0)),
        setting("every-2", &[0, 2], cost(355, 116.0), cost(356, 117.0)),
        setting("every-3", &[0, 3], cost(357, 116.0), cost(357, 116.5)),
        setting("best", &[0, 1, 2], cost(280, 124.0), cost(281, 123.0)),
    ];
    let point = |blocks: &[usize], cost| Point { blocks: blocks.to_vec(), cost };
    let front =
        vec![point(&[0, 1, 2, 3], cost(200, 132.0)), point(&[0, 2], cost(355, 116.0)), point(&[], cost(512, 100.0))];
    let block = |n| Block { name: format!("blocks.{n}"), class: "Block".into(), seconds: 0.008 };
    Tuned {
        schema: "nanscope.checkpoint/1".into(),
        script: "train.py".into(),
        step: 2,
        device: "cpu".into(),
        counted: "storages".into(),
        resident: 64 * MIB,
        limit: Some(300 * MIB),
        blocks: (0..4).map(block).collect(),
        planned: Planned { settings, front, exact: Some(true), least: 200 * MIB },
        chosen: Some("best".into()),
        diff: None,
        no_diff: None,
        proof: None,
        proved: None,
        seconds: 12.0,
    }
}

#[test]
fn the_table() {
    insta::assert_snapshot!("table_en", text(&tuned(), Lang::En));
    insta::assert_snapshot!("table_ko", text(&tuned(), Lang::Ko));
}

#[test]
fn what_could_not_be_done_is_said() {
    let mut tuned = tuned();
    tuned.planned.settings.pop();
    tuned.planned.exact = None;
    tuned.planned.settings[1].measured = None;
    tuned.planned.settings[1].note = Some("RuntimeError: no".into());
    tuned.planned.settings[2].parity = Some(Parity::Differs);
    tuned.chosen = None;
    tuned.limit = Some(100 * MIB);
    tuned.no_diff = Some("there is no source".into());
    insta::assert_snapshot!("refused_en", text(&tuned, Lang::En));
    tuned.limit = None;
    assert!(text(&tuned, Lang::En).contains("--limit SIZE"));
}

#[test]
fn the_plot() {
    insta::assert_snapshot!("plot", plot(&tuned(), Lang::En));
    let korean = plot(&tuned(), Lang::Ko);
    assert!(korean.contains("최대 메모리") && !korean.contains("peak memory"));
}

#[test]
fn names_are_escaped() {
    let mut tuned = tuned();
    tuned.script = "<a & b>.py".into();
    let plot = plot(&tuned, Lang::En);
    assert!(!plot.contains("<a ") && plot.contains("&#60;a &#38; b&#62;.py"), "{plot}");
}

#[test]
fn labels_keep_apart() {
    let mut tuned = tuned();
    let crowd = (0..8).map(|n| {
        setting(&format!("every-{}", n + 2), &[0], cost(300 + n, 110.0), cost(300 + n, 110.0 + n as f64 / 4.0))
    });
    tuned.planned.settings = tuned.planned.settings.into_iter().chain(crowd).collect();
    let plot = plot(&tuned, Lang::En);
    let number = |line: &str, key: &str| {
        line.split(key).nth(1).and_then(|rest| rest.split('"').next()).and_then(|n| n.parse::<f64>().ok())
    };
    let labels: Vec<(f64, f64, f64)> = plot
        .lines()
        .filter(|line| line.contains("<text class=\"ink label\""))
        .map(|line| {
            let name = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            let (x, y, width) =
                (number(line, " x=\"").unwrap(), number(line, " y=\"").unwrap(), 6.0 * name.len() as f64);
            (if line.contains("anchor=\"end\"") { x - width } else { x }, y, width)
        })
        .collect();
    assert_eq!(labels.len(), 13);
    for (at, a) in labels.iter().enumerate() {
        for b in &labels[..at] {
            let beside = a.0 >= b.0 + b.2 || b.0 >= a.0 + a.2 || (a.1 - b.1).abs() >= 12.0;
            assert!(beside, "{a:?} {b:?}");
        }
    }
}

#[test]
fn sizes() {
    assert_eq!(bytes(512), "0.5 KiB");
    assert_eq!(bytes(3 << 29), "1.5 GiB");
}
