use std::path::PathBuf;

use nanscope_lang::{Lang, safe};
use nanscope_logs::{Logs, Severity, render};

use crate::{args::DataFormat, output};

/// Shows what logs and flight-recorder dumps of many ranks say together. Exit status: 0 where nothing was found, 1 where a
/// fault was, 2 where a file could not be read.
pub(crate) fn logs(files: &[PathBuf], format: DataFormat, unknown: usize, lang: Lang) -> anyhow::Result<i32> {
    let mut logs = Logs::default();
    let mut unread = false;
    for file in files {
        if let Err(error) = logs.read(file) {
            unread = true;
            anstream::eprintln!("nanscope: {}", safe(&error.to_string()));
            logs.problem(error.to_string());
        }
    }
    let summary = logs.summary(lang);
    let found = summary.findings.iter().any(|finding| finding.severity == Severity::Fault);
    output::write(&match format {
        DataFormat::Text => render(&summary, unknown, lang),
        DataFormat::Json => serde_json::to_string_pretty(&summary)? + "\n",
    })?;
    Ok(if unread { 2 } else { i32::from(found) })
}
