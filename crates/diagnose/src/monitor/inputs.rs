//! What comes into a step from outside, as far as it is remembered.

use nanscope_numeric::View;
use nanscope_trace::schema::InputHistory;

/// One input of a step.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its memory.
    pub view: View<'a>,
    /// Its sizes, outermost dimension first.
    pub shape: &'a [usize],
}

#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) names: Vec<String>,
}

impl Inputs {
    pub(super) fn observe(&mut self, _step: u64, _inputs: &[Input]) {}

    pub(super) fn history(&self) -> Vec<InputHistory> {
        vec![]
    }
}
