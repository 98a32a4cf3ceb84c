use nanscope_lang::{Lang, say};
use nanscope_trace::schema::Report;

/// Where to read on, each a sentence; empty when there is nowhere.
pub(crate) fn footer(report: &Report, folder: Option<&str>, lang: Lang) -> Vec<String> {
    let page = report.causes.first().map(|cause| {
        let command = &cause.docs;
        say!(lang, "`{command}` explains this cause", "이 원인의 설명: `{command}`")
    });
    let folder = folder.filter(|_| page.is_some() || report.born().is_some());
    let again = folder.map(|folder| {
        say!(lang, "`nanscope explain {folder}` shows this again", "이 보고서 다시 보기: `nanscope explain {folder}`")
    });
    let make = folder.filter(|_| report.fixes.iter().any(|fix| fix.diff.is_some())).map(|folder| {
        say!(
            lang,
            "`nanscope fix {folder} --write` makes the first change",
            "첫 번째 조치 적용: `nanscope fix {folder} --write`"
        )
    });
    page.into_iter().chain(again).chain(make).collect()
}
