//! What comes into a step from outside: the range of every batch, and elements far from all that came before.
//!
//! Costs one read of each input per batch, 5 to 15 GB/s on one core; memory is bounded by the number of slots and features.

mod features;
mod series;
mod slot;

use nanscope_numeric::View;
use nanscope_trace::schema::InputHistory;

use slot::Slot;

/// Inputs that are told apart; further ones are left out.
const SLOTS_MAX: usize = 32;

/// One input of a step.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Which one: the same number at every step for the same argument, from 0.
    pub slot: u32,
    /// Its memory.
    pub view: View<'a>,
    /// Its sizes, outermost dimension first; the first counts samples.
    pub shape: &'a [usize],
}

#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) names: Vec<String>,
    slots: Vec<Option<Slot>>,
}

impl Inputs {
    pub(super) fn observe(&mut self, step: u64, inputs: &[Input]) {
        for input in inputs.iter().filter(|input| (input.slot as usize) < SLOTS_MAX && !input.view.is_empty()) {
            let at = input.slot as usize;
            if at >= self.slots.len() {
                self.slots.resize_with(at + 1, || None);
            }
            self.slots[at].get_or_insert_with(Slot::default).observe(step, input);
        }
    }

    pub(super) fn history(&self) -> Vec<InputHistory> {
        let slots = self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
        slots.map(|(at, slot)| slot.history(at as u32, self.names.get(at).cloned())).collect()
    }
}

#[cfg(test)]
mod tests;
