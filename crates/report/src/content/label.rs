use nanscope_trace::schema::{Operand, Origin, Phase};

use super::number::{count, index};

/// What stands under the line: how many values are bad, and the first of them.
pub(crate) fn label(origin: &Origin) -> String {
    let Origin { bad, of, kind, .. } = origin;
    let first = match &origin.first_index {
        Some(at) if !at.is_empty() => format!(", the first at {}", index(at)),
        _ => String::new(),
    };
    match origin.phase {
        Phase::Data | Phase::Param => {
            let tensor = origin.tensor.as_deref().map_or("a tensor".to_owned(), |name| format!("`{name}`"));
            format!("{tensor} was already bad when it got here: {bad} of {} {kind}{first}", count(*of, "value"))
        }
        Phase::Backward => format!("the gradient of this is {kind} in {bad} of {}{first}", count(*of, "value")),
        Phase::Optimizer => format!("the update wrote {kind} into {bad} of {}{first}", count(*of, "value")),
        _ if *of <= 1 => format!("the result is {kind}"),
        _ => {
            let verb = if *bad == 1 { "is" } else { "are" };
            format!("{bad} of {} {verb} {kind}{first}", count(*of, "value"))
        }
    }
}

/// For a tensor that arrived bad: `the first is in row 3 of 32`. None where shape or index are unknown.
pub(crate) fn row(origin: &Origin) -> Option<String> {
    let row = *origin.first_index.as_ref()?.first()?;
    let holds = |operand: &&Operand| operand.shape.iter().product::<u64>() == origin.of && operand.shape.len() > 1;
    let rows = *origin.inputs.iter().find(holds)?.shape.first()?;
    Some(format!("the first is in row {row} of {rows}, counting from 0"))
}
