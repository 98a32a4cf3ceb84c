//! The drift curve: how many significant digits were left on the way to the origin, and where they were lost.

use nanscope_numeric::Format;
use nanscope_trace::schema::{Digits, Entry, Ledger, Place};

use crate::case::Case;

/// Points of a curve at most.
const POINTS: usize = 5;
/// A loss of fewer digits than this is no point.
const STEP: f64 = 0.5;
/// A curve that loses fewer digits than this in all is not worth telling.
const WORTH: f64 = 2.0;

/// Where digits were lost from the start of the step to the origin, in order; the [`POINTS`] largest losses.
pub(crate) fn curve(case: &Case) -> Vec<Digits> {
    let errors = errors(case.ledger);
    let mut points: Vec<Digits> =
        path(case, &errors).into_iter().filter_map(|index| point(case.ledger, index, &errors)).collect();
    if points.iter().map(|point| point.before - point.after).sum::<f64>() < WORTH {
        return vec![];
    }
    while points.len() > POINTS {
        let loss = |point: &Digits| point.before - point.after;
        let smallest = (0..points.len()).min_by(|&a, &b| loss(&points[a]).total_cmp(&loss(&points[b])));
        points.remove(smallest.unwrap_or(0));
    }
    points
}

/// Relative error of what each entry wrote: its own where it was told, otherwise the largest among its inputs.
fn errors(ledger: &Ledger) -> Vec<f64> {
    let mut errors: Vec<f64> = Vec::with_capacity(ledger.entries.len());
    for entry in &ledger.entries {
        let own = entry.drift.as_ref().map(|drift| drift.relative);
        errors.push(own.unwrap_or_else(|| given(entry, &errors)));
    }
    errors
}

/// The largest error among the inputs of an entry.
fn given(entry: &Entry, errors: &[f64]) -> f64 {
    writers(entry).filter_map(|writer| errors.get(writer)).copied().fold(0.0, f64::max)
}

fn writers(entry: &Entry) -> impl Iterator<Item = usize> {
    entry.inputs.iter().filter_map(|arg| arg.from).filter(|&from| from < entry.index)
}

/// Entries from the start to the origin, through the input with the largest error each time. The origin itself is left
/// out where it wrote bad values: they have no digits.
fn path(case: &Case, errors: &[f64]) -> Vec<usize> {
    let mut path = vec![];
    let mut at = case.entry();
    while let Some(worst) = writers(at).max_by(|&a, &b| errors[a].total_cmp(&errors[b])).filter(|&i| errors[i] > 0.0) {
        path.push(worst);
        at = &case.ledger.entries[worst];
    }
    path.reverse();
    path
}

fn point(ledger: &Ledger, index: usize, errors: &[f64]) -> Option<Digits> {
    let entry = &ledger.entries[index];
    entry.drift.as_ref()?;
    let dtype = &entry.outputs.first()?.dtype;
    let whole = -(Format::named(dtype)?.epsilon / 2.0).log10();
    // Adding 0 turns -0 into 0.
    let digits = |error: f64| if error > 0.0 { (-error.log10()).clamp(0.0, whole) + 0.0 } else { whole };
    let (before, after) = (digits(given(entry, errors)), digits(errors[index]));
    let place = entry.place.as_ref();
    (before - after >= STEP).then(|| Digits {
        op: entry.op.clone(),
        file: place.map(|place| place.file.clone()),
        line: place.map(|place| place.line),
        code: place.and_then(expression),
        dtype: dtype.clone(),
        before,
        after,
    })
}

/// The expression of a place, where its columns are known.
fn expression(place: &Place) -> Option<String> {
    let (code, (start, end)) = (place.code.as_ref()?, place.columns?);
    let text: String = code.chars().skip(start as usize).take((end - start) as usize).collect();
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}
