//! One optimizer: what is remembered of its steps, and its detectors.

use nanscope_trace::schema::{Alarm, Baseline, Num, PastStep};

use super::record::Record;
use super::{Signals, collapse::Collapse, dead::Dead, pileup::PileUp, rate::Rate, silence::Silence, trend::Trend};

#[derive(Debug, Default)]
pub(super) struct Track {
    record: Record,
    taken: u64,
    trend: Trend,
    collapse: Collapse,
    silence: Silence,
    pileup: PileUp,
    rate: Rate,
    dead: Dead,
}

impl Track {
    pub(super) fn observe(&mut self, signals: &Signals) -> Option<Alarm> {
        self.record.push(signals);
        self.taken += u64::from(!signals.skipped);
        self.trend.see(signals);
        self.collapse.see(signals);
        self.silence.see(signals);
        self.pileup.see(signals);
        self.rate.see(signals);
        self.dead.see(signals);
        // The most specific first: gradients that pile up make a run diverge, a collapsed scale makes them 0.
        let alarm = self.pileup.alarm(signals);
        let alarm = alarm.or_else(|| self.collapse.alarm(signals));
        let alarm = alarm.or_else(|| self.trend.alarm(signals, &self.record));
        let alarm = alarm.or_else(|| self.silence.alarm(signals));
        let alarm = alarm.or_else(|| self.rate.alarm(signals));
        alarm.or_else(|| self.dead.alarm(signals))
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &PastStep> {
        self.record.iter()
    }

    pub(super) fn baseline(&self, optimizer: u32) -> Baseline {
        let median = |signal: fn(&PastStep) -> Option<Num>| self.record.median(super::trend::WINDOW, signal).map(Num);
        Baseline {
            optimizer,
            steps: self.taken,
            loss: median(|past| past.loss),
            grad_norm: median(|past| past.grad_norm),
        }
    }
}
