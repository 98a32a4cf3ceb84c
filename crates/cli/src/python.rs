use std::{env, ffi::OsString, process::Command};

/// `python3 -m nanscope ARGV`, by the Python that PYTHON names. Becomes that process where the system can.
pub(crate) fn nanscope(argv: &[OsString]) -> i32 {
    let python = env::var_os("PYTHON").filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.arg("-m").arg("nanscope").args(argv);
    let error = match become_it(command) {
        Ok(status) => return status,
        Err(error) => error,
    };
    let name = python.to_string_lossy();
    anstream::eprintln!(
        "nanscope run: cannot start `{name}`: {error}; expected a Python with torch and nanscope in it: activate its environment or set PYTHON"
    );
    2
}

#[cfg(unix)]
fn become_it(mut command: Command) -> std::io::Result<i32> {
    use std::os::unix::process::CommandExt;
    // Returns only when it failed.
    Err(command.exec())
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> std::io::Result<i32> {
    command.status().map(|status| status.code().unwrap_or(1))
}
