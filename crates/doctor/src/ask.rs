use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// For the rest of what a program that has ended wrote.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs a program and gives what it wrote to stdout. It is ended after `limit`: a driver that hangs must not hang this.
///
/// # Errors
/// One line: it cannot be started, takes too long, or fails with its last words.
pub(crate) fn ask(mut command: Command, limit: Duration) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| format!("{name}: {error}"))? {
            Some(status) => break status,
            None if begun.elapsed() > limit => {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name}: no answer within {} s", limit.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    // Whoever it has started may hold its output open.
    let text = |reader: Receiver<Vec<u8>>| {
        let left = limit.saturating_sub(begun.elapsed()).max(LAST_WORDS);
        String::from_utf8_lossy(&reader.recv_timeout(left).unwrap_or_default()).into_owned()
    };
    let (out, err) = (text(out), text(err));
    if status.success() {
        return Ok(out);
    }
    let said =
        err.lines().chain(out.lines()).rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    Err(format!("{name}: {status}: {said}"))
}

/// At most 4 MiB; a full pipe would stop the program.
fn drain(source: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(source) = source {
            // What came before an error is what there is.
            let _ = source.take(4 << 20).read_to_end(&mut bytes);
        }
        // Nobody may be waiting any longer.
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_grandchild_that_holds_the_output_open_is_not_waited_for() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 30 & echo said"]);
        let begun = Instant::now();
        assert!(ask(shell, Duration::from_secs(2)).is_ok());
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
