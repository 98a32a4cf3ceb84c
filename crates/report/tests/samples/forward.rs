use nanscope_numeric::Census;
use nanscope_trace::schema::*;

use super::*;

/// A product that leaves float16, with experiments, an island and a proved fix.
pub(crate) fn half_overflow() -> Report {
    let mut at = origin(Phase::Forward, "inf", 48, 1152);
    at.op = Some("aten.mm.default".into());
    at.place = place(39, "Encoder.forward", "            proj = torch.matmul(inv, rhs)", (19, 41));
    at.module = Some("encoder".into());
    at.dtype = Some("float16".into());
    at.first_index = Some(vec![3, 17]);
    let mut inverse = operand("self", "float16", &[24, 24], Census { max_abs: Some(61_984.0), ..Census::default() });
    inverse.index = Some(vec![3, 1]);
    inverse.value = Some(Num(-61_984.0));
    at.inputs =
        vec![inverse, operand("mat2", "float16", &[24, 48], Census { max_abs: Some(4.3125), ..Census::default() })];
    at.reference = Some(Reference { dtype: "float64".into(), finite: true, largest: Some(171_234.5), condition: None });
    let mut chain = vec![link(Phase::Forward, "aten.mm.default", 39, "48 of 1152 inf")];
    chain[0].module = Some("encoder".into());
    for layer in 0..14 {
        chain.push(link(Phase::Forward, "aten.addmm.default", 54 + layer % 3, "768 of 768 nan"));
    }
    chain.push(link(Phase::Forward, "aten.binary_cross_entropy_with_logits.default", 71, "nan"));
    let diff = "--- a/train.py\n+++ b/train.py\n@@ -39 +39,2 @@\n-            proj = torch.matmul(inv, rhs)\n+            with torch.autocast(\"cpu\", enabled=False):\n+                proj = torch.matmul(inv, rhs)\n";
    Report {
        trip: trip(4, Where::Loss, "nan"),
        replay: replay(true),
        origin: Some(at),
        chain,
        causes: vec![
            cause(
                "half-overflow",
                "a result exceeds the largest finite value of float16",
                Confidence::Proved,
                &["the largest result is 1.7e5 in float64; float16 ends at 65504"],
            ),
            cause("singular-matrix", "the matrix is close to singular", Confidence::Possible, &["condition 3.1e6"]),
        ],
        experiments: vec![Experiment {
            id: "autocast-off".into(),
            change: "autocast off".into(),
            finite: true,
            loss: Some(Num(0.7125)),
            reference_error: Some(1.2e-7),
            time_ratio: Some(1.04),
            memory_ratio: None,
            steps: Some(1),
            note: None,
        }],
        island: Some(Island { members: vec!["train.py:39".into()], replays: 11, minimal: true }),
        fixes: vec![
            Fix {
                id: "float32-line".into(),
                summary: "run this product in float32".into(),
                safety: Safety::ChangesTraining,
                diff: Some(diff.into()),
                files: vec![],
                note: None,
                proof: Some(Proof {
                    proved: true,
                    steps: 7,
                    finite: true,
                    healthy_losses: "close".into(),
                    compared: 3,
                    time_ratio: Some(1.02),
                    seconds: Some(2.5),
                    command: "nanscope fix nanscope-runs/1 --prove".into(),
                }),
            },
            advice("ridge", "a larger ridge keeps the inverse small"),
        ],
        ..report(Verdict::Nonfinite)
    }
}

/// A variance that is negative in float32 only.
pub(crate) fn cancellation() -> Report {
    let mut at = origin(Phase::Forward, "nan", 10, 30);
    at.op = Some("aten.sqrt.default".into());
    at.place = place(30, "Cmvn.forward", "        return (x - m) / var.sqrt()", (25, 35));
    at.first_index = Some(vec![0, 0, 1]);
    let mut var = operand("self", "float32", &[5, 1, 6], Census { max_abs: Some(0.125), zero: 3, ..Census::default() });
    (var.index, var.value, var.reference) = (Some(vec![0, 0, 1]), Some(Num(-0.09375)), Some(Num(1.06e-6)));
    at.inputs = vec![var];
    at.reference = Some(Reference { dtype: "float64".into(), finite: false, largest: Some(0.35), condition: None });
    let whole = Whole { finite: Some(true), operators: 990, seconds: 0.13, skipped: 2, skipped_ops: vec![] };
    Report {
        trip: trip(0, Where::Loss, "nan"),
        replay: replay(true).map(|replay| Replay { whole: Some(whole), ..replay }),
        origin: Some(at),
        chain: vec![link(Phase::Forward, "aten.sqrt.default", 30, "10 of 30 nan")],
        digits: vec![
            Digits {
                op: "aten.sub.Tensor".into(),
                file: Some("train.py".into()),
                line: Some(29),
                code: Some("(x * x).mean(1) - m * m".into()),
                dtype: "float32".into(),
                before: 7.22,
                after: 0.0,
            },
            Digits {
                op: "aten.add.Tensor".into(),
                file: None,
                line: None,
                code: None,
                dtype: "float32".into(),
                before: 3.1,
                after: 1.14,
            },
        ],
        causes: vec![cause(
            "cancellation",
            "the difference of nearly equal numbers has lost its digits",
            Confidence::Proved,
            &[
                "aten.sub.Tensor: -0.0938 in float32, 1.06e-6 in float64; its operands 490000.06 and 490000.16 agree to 11 digits in float64",
            ],
        )],
        fixes: vec![advice("cancellation-advice", "subtract before squaring")],
        ..report(Verdict::Nonfinite)
    }
}
