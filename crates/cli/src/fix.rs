use std::{
    fs,
    path::{Path, PathBuf},
};

use anstream::eprintln;
use anyhow::{Context, ensure};
use nanscope_lang::say;
use nanscope_trace::{
    Run,
    schema::{Fix, Report, RunInfo},
    write_atomically,
};

use crate::{Color, Lang, explain, output, patch};

/// Shows a fix of a run as a diff, or makes it.
pub(crate) fn fix(folder: &Path, number: usize, write: bool, color: Color, lang: Lang) -> anyhow::Result<()> {
    let (report, info) = read(folder, lang)?;
    let fix = choose(&report, number, folder, lang)?;
    let patched = patch::patched(fix, Path::new(&info.cwd))?;
    eprintln!("{}", nanscope_report::about(fix, lang));
    if !write {
        return output::write(&nanscope_report::diff(fix.diff.as_deref().unwrap_or_default(), color.on_stdout()));
    }
    for file in &patched {
        let access = fs::metadata(&file.path)?.permissions();
        ensure!(!access.readonly(), "{} is read-only; nothing was changed", file.path.display());
    }
    for file in patched {
        let access = fs::metadata(&file.path)?.permissions();
        let backup = backup(&file.path);
        write_atomically(&backup, &file.before)?;
        write_atomically(&file.path, &file.after)?;
        fs::set_permissions(&file.path, access)?;
        eprintln!(
            "{}",
            say!(
                lang,
                "{} was changed; as it was: {}",
                "{} 파일을 고쳤습니다; 이전 내용: {}",
                file.path.display(),
                backup.display()
            )
        );
    }
    Ok(())
}

/// The report of a run as it can be told now, and what is known of the run.
///
/// # Errors
/// A folder that is no run, or cannot be read.
pub fn read(folder: &Path, lang: Lang) -> anyhow::Result<(Report, RunInfo)> {
    let run = Run::open(folder)?;
    let info = run.info().cloned().unwrap_or_default();
    Ok((explain::report(&run, lang), info))
}

/// The fix with a number, from 1 as the report counts them.
///
/// # Errors
/// There is none.
pub fn choose<'a>(report: &'a Report, number: usize, folder: &Path, lang: Lang) -> anyhow::Result<&'a Fix> {
    number.checked_sub(1).and_then(|at| report.fixes.get(at)).with_context(|| {
        say!(
            lang,
            "{} has {} fixes, none with the number {number}; `nanscope explain {}` lists them",
            "{}에는 조치가 {}개 있고 {number}번은 없습니다; `nanscope explain {}` 로 볼 수 있습니다",
            folder.display(),
            report.fixes.len(),
            folder.display()
        )
    })
}

/// Where the file is kept as it was: beside it, under a name that is free.
fn backup(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = |n: u32| path.with_file_name(if n == 0 { format!("{name}.orig") } else { format!("{name}.orig{n}") });
    (0..).map(beside).find(|path| fs::symlink_metadata(path).is_err()).expect("some number is free")
}
