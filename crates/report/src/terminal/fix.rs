use nanscope_lang::{Lang, safe};
use nanscope_trace::schema::Fix;

use super::paint::Paint;
use crate::content;

/// What a fix does, how far to trust it, and what running it showed: a line each.
pub fn about(fix: &Fix, lang: Lang) -> String {
    let mut lines = vec![fix.summary.clone(), content::safety(fix.safety, lang).to_owned()];
    lines.extend(fix.proof.as_ref().map(|proof| content::proof(proof, lang)));
    lines.extend(fix.note.clone());
    lines.iter().map(|line| safe(line)).collect::<Vec<_>>().join("\n")
}

/// A diff, to the byte where there is no colour, so that `patch` takes it.
pub fn diff(diff: &str, colour: bool) -> String {
    if colour { diff.lines().map(|line| Paint(true).diff(line) + "\n").collect() } else { diff.to_owned() }
}
