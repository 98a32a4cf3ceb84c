use nanscope_trace::schema::AlarmKind;
use proptest::prelude::*;

use super::*;

/// Feeds signals made from the step number, and gives the first alarm of each kind.
fn run(steps: u64, signals: impl Fn(u64) -> Signals<'static>) -> Vec<Alarm> {
    let mut monitor = Monitor::new();
    let mut alarms = vec![];
    for step in 0..steps {
        alarms.extend(monitor.observe(&Signals { step, ..signals(step) }));
    }
    alarms
}

fn kinds(alarms: &[Alarm]) -> Vec<AlarmKind> {
    alarms.iter().map(|alarm| alarm.kind).collect()
}

/// A healthy step.
fn step(loss: f64, norm: f64) -> Signals<'static> {
    Signals {
        loss: Some(loss),
        grad_norm: Some(norm),
        grad_max: Some(norm / 3.0),
        tensors: 8,
        lr: Some(1e-3),
        ..Signals::default()
    }
}

/// Pseudo-random, in [-1, 1): enough noise for a hand-made series.
fn noise(step: u64) -> f64 {
    let mut x = step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x ^ x >> 29) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

#[test]
fn growth_is_told_with_its_begin() {
    let alarms = run(60, |at| {
        let grown = 3f64.powi(at.saturating_sub(30) as i32);
        step(-0.7 * grown, 2.0 * grown)
    });
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((alarm.kind, alarm.step), (AlarmKind::Divergence, 30));
    assert!((39..=44).contains(&alarm.seen), "{alarm:?}");
    assert!((alarm.fact("loss_growth").unwrap() - 3.0).abs() < 1e-9);
    assert_eq!((alarm.fact("loss_usual"), alarm.fact("norm_usual")), (Some(0.7), Some(2.0)));
    assert_eq!((alarm.fact("loss_from"), alarm.fact("lr")), (Some(0.7), Some(1e-3)));
}

#[test]
fn slower_growth_is_told_later() {
    for (factor, within) in [(2.2, 15), (1.25, 75)] {
        let alarms = run(120, |at| step(f64::powi(factor, at as i32), f64::powi(factor, at as i32)));
        assert_eq!(kinds(&alarms), [AlarmKind::Divergence]);
        assert!(alarms[0].seen < within, "{factor}: {}", alarms[0].seen);
    }
}

#[test]
fn what_only_looks_like_divergence_is_quiet() {
    type Series = fn(u64) -> (f64, f64);
    let series: [(&str, Series); 9] = [
        ("warm-up that comes back", |at| {
            let bump = 1.0 + 100.0 * (-((at as f64 - 12.0) / 5.0).powi(2)).exp();
            (bump, bump)
        }),
        ("two players", |at| ((1.0 + at as f64 % 7.0) * (0.1 + (at % 2) as f64 * 10.0), 10f64.powi((at % 5) as i32))),
        ("a loss that changes its sign", |at| (noise(at) * 1e3, 1.0 + noise(at + 7))),
        ("a loss that starts at 0", |at| if at < 40 { (0.0, 0.0) } else { (at as f64 - 39.0, 5.0) }),
        ("single bad batches", |at| if at % 50 == 30 { (1e12, 1e15) } else { (0.3, 0.1) }),
        ("three bad batches in a row", |at| {
            if (90..93).contains(&at) { (10f64.powi(at as i32 - 80), 1e15) } else { (0.3, 0.1) }
        }),
        ("a tiny baseline", |at| {
            let down = 10f64.powf(-(at as f64) / 20.0).max(1e-9);
            if at < 200 {
                (down, down)
            } else {
                let up = 3f64.powi((at as i32 - 200).min(11));
                (1e-9 * up, 1e-9 * up)
            }
        }),
        ("norms of any size", |at| (1.0 + 0.3 * noise(at), 10f64.powf(3.0 * noise(at)))),
        ("growth of the loss alone", |at| (2f64.powi(at as i32 % 60), 1.0)),
    ];
    for (name, series) in series {
        let alarms = run(400, |at| {
            let (loss, norm) = series(at);
            step(loss, norm)
        });
        assert_eq!(alarms, [], "{name}");
    }
}

#[test]
fn optimizers_that_take_turns_are_told_apart() {
    let alarms = run(400, |at| Signals {
        optimizer: (at % 2) as u32,
        ..if at % 2 == 0 { step(1e-6, 1e-6) } else { step(1e6, 1e6) }
    });
    assert_eq!(alarms, []);
    let alarms = run(100, |at| Signals {
        optimizer: (at % 2) as u32,
        ..if at % 2 == 0 { step(1.0, 1.0) } else { step(3f64.powi(at as i32), 3f64.powi(at as i32)) }
    });
    assert_eq!((kinds(&alarms), alarms[0].optimizer), (vec![AlarmKind::Divergence], 1));
}

#[test]
fn a_scale_that_falls_below_every_use_is_a_collapse() {
    let halving =
        |at: u64| Signals { scale: Some(65536.0 / 2f64.powi(at as i32)), skipped: true, ..step(1.0, f64::INFINITY) };
    let alarms = run(60, halving);
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((alarm.kind, alarm.step, alarm.seen), (AlarmKind::LossScaleCollapse, 0, 17));
    assert_eq!((alarm.fact("scale_from"), alarm.fact("scale_to")), (Some(65536.0), Some(0.5)));

    let with_single_updates = |at: u64| {
        let skipped = at < 10 || !at.is_multiple_of(5);
        Signals { scale: Some(65536.0 / 1.7f64.powi(at as i32)), skipped, ..step(1.0, 1.0) }
    };
    assert_eq!(kinds(&run(60, with_single_updates)), [AlarmKind::LossScaleCollapse]);
    let unread = |_| Signals { skipped: true, ..step(1.0, f64::INFINITY) };
    assert_eq!(run(60, unread)[0].seen, 39);
}

#[test]
fn a_search_for_a_scale_is_no_collapse() {
    let from_very_high = |at: u64| {
        let skips = at.min(30);
        Signals { scale: Some(2f64.powi(32 - skips as i32)), skipped: at < 30, ..step(1.0, 1.0) }
    };
    assert_eq!(run(200, from_very_high), []);
    let one_now_and_then = |at: u64| Signals { scale: Some(1024.0), skipped: at.is_multiple_of(3), ..step(1.0, 1.0) };
    assert_eq!(run(200, one_now_and_then), []);
    let fixed_and_small = |_| Signals { scale: Some(1e-6), ..step(1.0, 1.0) };
    assert_eq!(run(200, fixed_and_small), []);
}

#[test]
fn zeros_everywhere_are_told_while_there_is_a_loss() {
    let silent = |at: u64| if at < 5 { step(0.7, 0.2) } else { step(0.7, 0.0) };
    let alarms = run(60, silent);
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((alarm.kind, alarm.step, alarm.seen), (AlarmKind::SilentZero, 5, 24));
    assert_eq!((alarm.fact("last_norm"), alarm.fact("last_norm_step")), (Some(0.2), Some(4.0)));
    assert_eq!(run(60, |_| step(0.7, 0.0))[0].step, 0);

    assert_eq!(run(200, |_| step(0.0, 0.0)), [], "a hinge that is satisfied");
    assert_eq!(run(200, |at| step(0.7, if at % 10 == 0 { 0.1 } else { 0.0 })), [], "clipped now and then");
    assert_eq!(run(200, |_| Signals { tensors: 0, ..step(0.7, 0.0) }), [], "nothing to look at");
}

#[test]
fn gradients_that_are_carried_on_pile_up() {
    let alarms = run(20, |at| Signals { carried: at >= 4, ..step(0.7, 1.0 + at as f64) });
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((alarm.kind, alarm.step, alarm.seen), (AlarmKind::PileUp, 4, 6));
    assert_eq!((alarm.fact("norm_from"), alarm.fact("norm_to")), (Some(4.0), Some(7.0)));
    assert_eq!(run(20, |at| Signals { carried: at % 3 != 0, ..step(0.7, 1.0) }), []);
}

#[test]
fn a_rate_of_0_is_told_when_it_lasts() {
    let after = run(400, |at| Signals { lr: Some(if at < 100 { 0.1 } else { 0.0 }), ..step(0.7, 1.0) });
    assert_eq!((kinds(&after), after[0].step, after[0].seen), (vec![AlarmKind::ZeroRate], 100, 149));
    assert_eq!(run(201, |_| Signals { lr: Some(0.0), ..step(0.7, 1.0) })[0].seen, 199);
    assert_eq!(run(400, |at| Signals { lr: Some(if at < 100 { 0.0 } else { 0.1 }), ..step(0.7, 1.0) }), []);
    assert_eq!(run(140, |at| Signals { lr: Some((100.0 - at as f64).max(0.0)), ..step(0.7, 1.0) }), []);
}

#[test]
fn parameters_that_no_longer_learn_are_told() {
    let alarms = run(400, |at| Signals { zeros: if at < 20 { &[] } else { &[2, 3] }, ..step(0.7, 1.0) });
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((alarm.kind, alarm.step, alarm.seen), (AlarmKind::DeadUnits, 20, 119));
    assert_eq!((&alarm.tensors[..], alarm.fact("dead"), alarm.fact("learned")), (&[2, 3][..], Some(2.0), Some(1.0)));
    assert_eq!(run(400, |_| Signals { zeros: &[7], ..step(0.7, 1.0) })[0].seen, 299);

    assert_eq!(
        run(400, |at| Signals { zeros: if at < 250 { &[1] } else { &[] }, ..step(0.7, 1.0) }),
        [],
        "warmed up late"
    );
    assert_eq!(
        run(900, |at| Signals { zeros: if at % 40 != 0 { &[1] } else { &[] }, ..step(0.7, 1.0) }),
        [],
        "rarely used"
    );
}

#[test]
fn names_come_with_the_parameters_they_belong_to() {
    let mut monitor = Monitor::new();
    for at in 0..300 {
        monitor.observe(&Signals { step: at, zeros: &[1], ..step(0.7, 1.0) });
    }
    monitor.name_parameters(0, &["a.weight".into(), "a.bias".into()]);
    assert_eq!(monitor.history().alarms[0].names, ["a.bias"]);
}

#[test]
fn a_history_holds_steps_baselines_and_scales() {
    let mut monitor = Monitor::new();
    for at in 0..1000 {
        let scale = Some(65536.0 / 2f64.powi((at / 100) as i32));
        monitor.observe(&Signals { step: at, scale, groups: &[1.0, 2.0], ..step(0.5, 2.0) });
    }
    let history = monitor.history();
    assert_eq!(history.steps.last().unwrap().step, 999);
    assert_eq!(history.steps[0].groups, [Num(1.0), Num(2.0)]);
    assert_eq!(history.scales.len(), 9);
    assert_eq!(history.scales[0], ScaleChange { step: 100, from: Num(65536.0), to: Num(32768.0) });
    let [baseline] = &history.baselines[..] else { panic!("{history:?}") };
    assert_eq!((baseline.steps, baseline.loss, baseline.grad_norm), (1000, Some(Num(0.5)), Some(Num(2.0))));
    let json = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<History>(&json).unwrap(), history);
}

prop_compose! {
    /// A normal deviate, by summing twelve uniform ones.
    fn normal()(parts in prop::collection::vec(0.0..1.0f64, 12)) -> f64 {
        parts.iter().sum::<f64>() - 6.0
    }
}

prop_compose! {
    /// Loss and gradient norm of a healthy run: decay, lognormal noise, and a bump of up to 100-fold for up to 20 steps.
    fn healthy()(
        deviates in prop::collection::vec((normal(), normal()), 40..300),
        (scale, sigma) in (-6.0..6.0f64, 0.0..1.0f64),
        decay in 0.0..0.2f64,
        (bump_at, bump_steps, bump) in (0..300usize, 0..20usize, 0.0..2.0f64),
        shared in any::<bool>(),
    ) -> Vec<(f64, f64)> {
        deviates.into_iter().enumerate().map(|(at, (a, b))| {
            let bump = if (bump_at..bump_at + bump_steps).contains(&at) { 10f64.powf(bump) } else { 1.0 };
            let level = 10f64.powf(scale) * (-decay * at as f64).exp() * bump;
            (level * (sigma * a).exp(), level * (sigma * if shared { a } else { b }).exp())
        }).collect()
    }
}

fn observed(series: &[(f64, f64)]) -> Vec<Alarm> {
    run(series.len() as u64, |at| step(series[at as usize].0, series[at as usize].1))
}

proptest! {
    #[test]
    fn healthy_series_are_quiet(series in healthy()) {
        prop_assert_eq!(observed(&series), []);
    }

    #[test]
    fn growth_from_any_scale_above_one_is_told(
        scale in 0.0..100.0f64,
        factor in 3.0..30.0f64,
        before in 0..80usize,
        jitter in 0.0..0.2f64,
    ) {
        let level = 10f64.powf(scale);
        let series: Vec<_> = (0..before + 15).map(|at| {
            let grown = level * factor.powi(at.saturating_sub(before) as i32) * (1.0 + jitter * noise(at as u64));
            (grown, grown * 10.0)
        }).collect();
        let alarms = observed(&series);
        prop_assert_eq!(kinds(&alarms), [AlarmKind::Divergence]);
        prop_assert!(alarms[0].step as usize + 5 >= before, "begin {} of growth at {before}", alarms[0].step);
    }

    #[test]
    fn same_signals_same_alarms(
        steps in prop::collection::vec(
            (prop::option::of(any::<f64>()), prop::option::of(any::<f64>()), any::<(bool, bool)>(), 0..3u32, prop::collection::vec(0..9u32, 0..3)),
            0..120,
        )
    ) {
        let (mut first, mut second) = (Monitor::new(), Monitor::new());
        for (at, (loss, norm, (skipped, carried), optimizer, zeros)) in steps.iter().enumerate() {
            let signals = Signals {
                step: at as u64, optimizer: *optimizer, loss: *loss, grad_norm: *norm, grad_max: *norm, groups: &[],
                tensors: 9, zeros, lr: *loss, scale: *norm, skipped: *skipped, carried: *carried,
            };
            prop_assert_eq!(format!("{:?}", first.observe(&signals)), format!("{:?}", second.observe(&signals)));
        }
        prop_assert_eq!(format!("{:?}", first.history()), format!("{:?}", second.history()));
    }
}

#[test]
fn spikes_of_a_loss_that_has_been_learned_are_no_divergence() {
    let series = |at: usize| if at < 80 { 1e-8 } else { 1e-8 * 3f64.powi(at as i32 - 80) };
    let mut monitor = Monitor::new();
    for at in 0..96 {
        let loss = series(at);
        let told = monitor.observe(&Signals { step: at as u64, ..step(loss, loss * 10.0) });
        assert_eq!(told, None, "at step {at} with a loss of {loss}");
    }
}
