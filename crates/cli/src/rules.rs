use anyhow::bail;

use crate::{Lang, knowledge, nearest::nearest, output};

/// Writes the table of rules, or the page of one.
pub(crate) fn rules(id: Option<&str>, lang: Lang) -> anyhow::Result<()> {
    let rules = knowledge::rules();
    let Some(id) = id else {
        let width = rules.iter().map(|rule| rule.id().len()).max().unwrap_or(0);
        let table: String = rules.iter().map(|rule| format!("{:width$}  {}\n", rule.id(), rule.title(lang))).collect();
        return output::write(&table);
    };
    match rules.iter().find(|rule| rule.id() == id) {
        Some(rule) => output::write(&format!("# {}: {}\n\n{}\n", rule.id(), rule.title(lang), rule.page(lang).trim())),
        None => bail!("{}", unknown(id, rules.iter().map(|rule| rule.id()))),
    }
}

fn unknown<'a>(id: &str, ids: impl Iterator<Item = &'a str>) -> String {
    match nearest(id, ids).as_slice() {
        [] => format!("rules: no rule `{id}`; `nanscope rules` lists them"),
        near => format!("rules: no rule `{id}`; did you mean {}?", near.join(", ")),
    }
}
