use nanscope_lang::Lang;

/// The language that the environment asks for.
pub fn locale() -> Lang {
    Lang::of_locale(|name| std::env::var(name).ok())
}
