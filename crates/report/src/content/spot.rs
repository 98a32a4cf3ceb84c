use nanscope_lang::Lang;
use nanscope_trace::schema::{Phase, Place, Report, Where};

use super::{
    label::{apart, computed, label, overwritten, parted},
    trip::what,
};

/// The line that a report is about, and what is said under it.
pub(crate) struct Spot<'a> {
    /// Absent where the line is not known.
    pub(crate) place: Option<&'a Place>,
    pub(crate) label: String,
}

/// The line of the origin; without one the line of the step that tripped, where that is known.
pub(crate) fn spot(report: &Report, lang: Lang) -> Option<Spot<'_>> {
    if let Some(origin) = report.born() {
        return Some(Spot { place: origin.place.as_ref(), label: label(origin, lang) });
    }
    let trip = report.trip.as_ref()?;
    if let (Where::Rank, Some(origin)) = (trip.where_, &report.origin) {
        return Some(Spot { place: origin.place.as_ref(), label: apart(origin, lang) });
    }
    if let (Where::Kernel, Some(origin)) = (trip.where_, &report.origin) {
        return Some(Spot { place: origin.place.as_ref(), label: computed(origin, lang) });
    }
    if let (Where::Recompute, Some(origin)) =
        (trip.where_, report.origin.as_ref().filter(|o| o.phase == Phase::Backward))
    {
        return Some(Spot { place: origin.place.as_ref(), label: overwritten(lang) });
    }
    if let Some(origin) = report.parted() {
        return Some(Spot { place: origin.place.as_ref(), label: parted(origin, lang) });
    }
    Some(Spot { place: Some(trip.place.as_ref()?), label: what(trip, lang) })
}
