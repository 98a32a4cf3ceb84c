//! A search as a plain function over an oracle that is asked one question at a time.
//!
//! The oracle is a replay, which only the caller can run. So a search runs from its start with every answer so far, up to
//! the first question without one; that costs lookups, which are nothing beside a replay.

use std::collections::BTreeMap;

/// Why a search stops short of its end.
pub(super) enum Halt<Q> {
    /// It needs the answer to this question.
    Ask(Q),
    /// It may ask no more.
    Spent,
}

/// Answers by question, each asked once.
#[derive(Clone, Debug)]
pub(super) struct Answers<Q, A> {
    known: BTreeMap<Q, A>,
    limit: usize,
}

impl<Q: Ord + Clone, A: Clone> Answers<Q, A> {
    /// At most `limit` questions may be asked.
    pub(super) fn new(limit: usize) -> Self {
        Answers { known: BTreeMap::new(), limit }
    }

    pub(super) fn ask(&self, question: &Q) -> Result<A, Halt<Q>> {
        match self.known.get(question) {
            Some(answer) => Ok(answer.clone()),
            None if self.known.len() >= self.limit => Err(Halt::Spent),
            None => Err(Halt::Ask(question.clone())),
        }
    }

    pub(super) fn put(&mut self, question: Q, answer: A) {
        self.known.insert(question, answer);
    }

    /// Questions answered so far.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Q, &A)> {
        self.known.iter()
    }
}
