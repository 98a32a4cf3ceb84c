use std::path::{Path, PathBuf};

use nanscope_doctor::{Facts, Severity, examine, render};
use nanscope_lang::Lang;

use crate::{
    args::DataFormat,
    nearest::{distance, nearest},
    output,
};

/// Shows the machine and its settings. Exit status: 0 where no problem was found, 1 where one was.
pub(crate) fn doctor(format: DataFormat, python: Option<PathBuf>, lang: Lang) -> anyhow::Result<i32> {
    let named = || std::env::var_os("PYTHON").filter(|name| !name.is_empty()).map(PathBuf::from);
    let python = python.or_else(named);
    let facts = Facts::read(python.as_deref().unwrap_or(Path::new("python3")));
    // No list of variables is whole: only what a slip of the finger would make is called one.
    let close = |name: &str, known: &[&'static str]| {
        let near = nearest(name, known.iter().copied());
        near.into_iter().filter(|known| distance(name, known) <= 2).collect()
    };
    let examined = examine(facts, close, lang);
    output::write(&match format {
        DataFormat::Text => render(&examined, lang),
        DataFormat::Json => serde_json::to_string_pretty(&examined)? + "\n",
    })?;
    Ok(i32::from(examined.findings.iter().any(|finding| finding.severity == Severity::Problem)))
}
