use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::schema::Report;
use crate::{Error, REPORT_FILE};

/// Writes a whole file or leaves what was there: a temporary file in the same folder, then a rename.
///
/// # Errors
/// [`Error::Write`] when the folder cannot be written; the temporary file is then removed.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let error = |source| Error::Write { path: path.to_owned(), source };
    let name = path.file_name().ok_or_else(|| error(io::ErrorKind::InvalidInput.into()))?;
    let temporary = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        // Without it, a power cut after the rename can leave an empty file under the final name.
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    written.map_err(|source| {
        // The first error is the one to tell; a temporary file that stays is harmless.
        let _ = fs::remove_file(&temporary);
        error(source)
    })
}

/// Writes `report.json` into a run folder, atomically, after checking the JSON against [`Report`].
///
/// # Errors
/// [`Error::Json`] for text that is no report, [`Error::Write`] as in [`write_atomically`].
pub fn write_report(dir: &Path, json: &str) -> Result<(), Error> {
    serde_json::from_str::<Report>(json).map_err(|source| Error::Json { expected: "a report", source })?;
    write_atomically(&dir.join(REPORT_FILE), json.as_bytes())
}
