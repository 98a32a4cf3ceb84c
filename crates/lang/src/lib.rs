//! The languages that a person can read nanscope in.
//!
//! A sentence is written once per language, side by side, where it is said: [`say!`] for one with numbers in it,
//! [`Lang::pick`] for one without. There is no table of messages, so that none can be missing or left behind. Ids, keys,
//! operators and whatever else a machine reads are the same in every language and do not pass here.

mod safe;

use std::fmt;
use std::str::FromStr;

pub use safe::safe;

/// A language of titles, evidence, advice, pages and reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Korean.
    Ko,
}

impl Lang {
    /// Every language.
    pub const ALL: [Lang; 2] = [Lang::En, Lang::Ko];
    /// Names that [`Lang::from_str`] takes, in the order of [`Lang::ALL`].
    pub const NAMES: [&str; 2] = ["en", "ko"];

    /// Name on the command line.
    pub fn as_str(self) -> &'static str {
        self.pick("en", "ko")
    }

    /// The one of two texts that is in this language.
    pub fn pick<T>(self, en: T, ko: T) -> T {
        match self {
            Lang::En => en,
            Lang::Ko => ko,
        }
    }

    /// The language of messages in a POSIX environment: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty
    /// decides. English for any language not known here.
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Lang {
        let set = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
        let language = set.as_deref().and_then(|locale| locale.split(['_', '.', '@', '-']).next());
        if language == Some("ko") { Lang::Ko } else { Lang::En }
    }
}

impl FromStr for Lang {
    type Err = UnknownLang;
    fn from_str(name: &str) -> Result<Self, UnknownLang> {
        Lang::ALL.into_iter().find(|lang| lang.as_str() == name).ok_or_else(|| UnknownLang(name.to_owned()))
    }
}

/// A name that is no language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLang(String);

impl fmt::Display for UnknownLang {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "unknown language: expected {}, got `{}`", Lang::NAMES.join(" or "), self.0)
    }
}

impl std::error::Error for UnknownLang {}

/// `format!` in the language given: first the English text, then the Korean one. Both take the same arguments, and the
/// compiler refuses an argument that one of them leaves out. Where word order differs, name the arguments.
///
/// ```
/// use nanscope_lang::{Lang, say};
/// let at = 3;
/// let say_it = |lang| say!(lang, "{what} at {at}", "{at} 위치에서 {what}", what = "nan");
/// assert_eq!(say_it(Lang::En), "nan at 3");
/// assert_eq!(say_it(Lang::Ko), "3 위치에서 nan");
/// ```
#[macro_export]
macro_rules! say {
    ($lang:expr, $en:literal, $ko:literal $($arguments:tt)*) => {
        match $lang {
            $crate::Lang::En => format!($en $($arguments)*),
            $crate::Lang::Ko => format!($ko $($arguments)*),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Lang;

    fn of(set: &[(&str, &str)]) -> Lang {
        Lang::of_locale(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_first_variable_that_is_set_decides() {
        assert_eq!(of(&[]), Lang::En);
        assert_eq!(of(&[("LANG", "ko_KR.UTF-8")]), Lang::Ko);
        assert_eq!(of(&[("LANG", "ko")]), Lang::Ko);
        assert_eq!(of(&[("LC_MESSAGES", "ko_KR.eucKR"), ("LANG", "en_US.UTF-8")]), Lang::Ko);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "ko_KR.UTF-8")]), Lang::En);
        assert_eq!(of(&[("LC_ALL", ""), ("LANG", "ko_KR.UTF-8")]), Lang::Ko);
        assert_eq!(of(&[("LANG", "kok_IN")]), Lang::En);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Lang::En);
    }

    #[test]
    fn names_come_back() {
        for (lang, name) in Lang::ALL.into_iter().zip(Lang::NAMES) {
            assert_eq!((lang.as_str(), name.parse()), (name, Ok(lang)));
        }
        let error = "de".parse::<Lang>().unwrap_err().to_string();
        assert_eq!(error, "unknown language: expected en or ko, got `de`");
    }
}
