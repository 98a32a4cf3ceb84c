//! A fix as the report holds it, made to the files as they lie.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use diffy::Patch;
use nanscope_trace::schema::{Edited, Fix};

/// A file before and after a fix.
#[derive(Debug)]
pub struct Patched {
    /// Where it lies.
    pub path: PathBuf,
    /// What is in it.
    pub before: Vec<u8>,
    /// What will be.
    pub after: Vec<u8>,
}

/// Every file that a fix changes, read and changed in memory. `base` is what its paths are relative to.
///
/// # Errors
/// A file that cannot be read, that is not the one the fix was made for, or a diff that does not fit.
pub fn patched(fix: &Fix, base: &Path) -> anyhow::Result<Vec<Patched>> {
    let diff = fix.diff.as_deref().unwrap_or_default();
    let parts = parts(diff);
    ensure!(!parts.is_empty(), "the fix {} is advice: it has no diff", fix.id);
    ensure!(
        parts.len() == fix.files.len(),
        "the fix {} is damaged: expected a diff of {} files, got {}",
        fix.id,
        fix.files.len(),
        parts.len()
    );
    fix.files.iter().zip(parts).map(|(file, part)| one(file, part, base)).collect()
}

fn one(file: &Edited, part: &str, base: &Path) -> anyhow::Result<Patched> {
    // A link stays one: what it points to is changed.
    let path = fs::canonicalize(base.join(&file.file)).unwrap_or_else(|_| base.join(&file.file));
    let before = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let checksum = crc32fast::hash(&before);
    if (checksum, before.len() as u64) != (file.checksum, file.bytes) {
        bail!(
            "{} has changed since the run: expected {} bytes with CRC-32 {:08x}, got {} bytes with {checksum:08x}",
            path.display(),
            file.bytes,
            file.checksum,
            before.len(),
        );
    }
    let patch = Patch::from_bytes(part.as_bytes()).with_context(|| format!("{}: not a diff", file.file))?;
    let after = diffy::apply_bytes(&before, &patch).with_context(|| format!("{}: the diff does not fit", file.file))?;
    Ok(Patched { path, before, after })
}

/// A diff of several files, file by file.
fn parts(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = diff.match_indices("--- a/").map(|(at, _)| at).collect();
    // Within a hunk every line begins with a blank, `+`, `-` or `\`: a removed line `-- a/` is no header without `+++` below.
    starts.retain(|&at| {
        (at == 0 || diff.as_bytes()[at - 1] == b'\n')
            .then(|| diff[at..].split_once('\n'))
            .flatten()
            .is_some_and(|(_, rest)| rest.starts_with("+++ b/"))
    });
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &diff[start..end]).collect()
}

#[cfg(test)]
mod tests {
    use nanscope_trace::schema::Safety;

    use super::*;

    fn fix(diff: &str, files: &[(&str, &str)]) -> Fix {
        let edited = |&(file, text): &(&str, &str)| Edited {
            file: file.into(),
            checksum: crc32fast::hash(text.as_bytes()),
            bytes: text.len() as u64,
        };
        Fix {
            id: "floor".into(),
            summary: String::new(),
            safety: Safety::Safe,
            diff: Some(diff.into()),
            files: files.iter().map(edited).collect(),
            proof: None,
            note: None,
        }
    }

    const DIFF: &str = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\r\n--- a/x\r\n+y = 2\r\n\
                        --- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-값\n\\ No newline at end of file\n+수\n\\ No newline at end of file\n";

    #[test]
    fn every_file_is_changed_and_every_other_byte_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = ("x = 1\r\n-- a/x\r\n", "값");
        fs::write(dir.path().join("a.py"), a).unwrap();
        fs::write(dir.path().join("b.py"), b).unwrap();
        let found = patched(&fix(DIFF, &[("a.py", a), ("b.py", b)]), dir.path()).unwrap();
        assert_eq!(found[0].after, b"x = 1\r\ny = 2\r\n");
        assert_eq!(found[1].after, "수".as_bytes());
        assert_eq!(found[0].before, a.as_bytes());
    }

    #[test]
    fn a_file_that_has_changed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.py"), "x = 2\r\n-- a/x\r\n").unwrap();
        fs::write(dir.path().join("b.py"), "값").unwrap();
        let error = patched(&fix(DIFF, &[("a.py", "x = 1\r\n-- a/x\r\n"), ("b.py", "값")]), dir.path()).unwrap_err();
        assert!(error.to_string().contains("has changed since the run: expected 15 bytes"), "{error}");
    }

    #[test]
    fn advice_has_nothing_to_apply() {
        let error = patched(&fix("", &[]), Path::new(".")).unwrap_err();
        assert_eq!(error.to_string(), "the fix floor is advice: it has no diff");
    }
}
