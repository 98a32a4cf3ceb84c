use nanscope_trace::schema::*;

use super::*;

/// A line, but no rule that explains it, from a replay that is not the run.
pub(crate) fn unknown_cause() -> Report {
    let mut at = origin(Phase::Forward, "nan", 1, 1);
    at.op = Some("custom.fused_loss.default".into());
    at.place = place(80, "<module>", "\tloss = 손실(출력, y)  # 한글", (8, 17));
    at.dtype = Some("bfloat16".into());
    Report {
        trip: trip(4, Where::Loss, "nan"),
        replay: replay(false),
        origin: Some(at),
        warnings: vec!["the replay gave loss 0.31, the run had 0.29: a source of randomness was not recorded".into()],
        ..report(Verdict::Nonfinite)
    }
}

/// A trip without a replay.
pub(crate) fn no_origin() -> Report {
    Report {
        trip: Some(TripSummary { name: Some("bn.running_var".into()), ..trip(6, Where::Buffer, "inf").unwrap() }),
        warnings: vec!["the run was killed before the step was run again".into()],
        ..report(Verdict::Nonfinite)
    }
}

/// Nothing is bad yet, on two ranks.
pub(crate) fn diverging() -> Report {
    let mut diverging = Report {
        trip: trip(5, Where::Trend, "finite"),
        causes: vec![cause(
            "divergence",
            "loss, gradients and weights grow from step to step",
            Confidence::Likely,
            &["the loss grew from 0.7 to 3.1e9 in 5 steps", "the learning rate is 12"],
        )],
        fixes: vec![advice("rate", "try a learning rate ten times smaller")],
        ..report(Verdict::Diverging)
    };
    diverging.run.world_size = 2;
    diverging
}
