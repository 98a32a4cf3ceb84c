//! GPUs as the driver reports them, through `nvidia-smi`: nothing is set, nothing is reset.

use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::ask::ask;

const LIMIT: Duration = Duration::from_secs(20);

/// What is asked, in this order.
const FIELDS: [&str; 11] = [
    "index",
    "name",
    "driver_version",
    "persistence_mode",
    "ecc.mode.current",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.uncorrected.aggregate.total",
    "clocks_throttle_reasons.active",
    "temperature.gpu",
    "compute_mode",
];
/// Those that every driver knows.
const FEW: usize = 4;

/// One GPU. What the driver does not support is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Number of the driver's.
    pub index: String,
    /// As `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Version of the driver.
    pub driver: String,
    /// Whether the driver stays loaded without a program that uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistence: Option<bool>,
    /// Whether memory errors are corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
    /// Memory errors since the driver was loaded that were corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<u64>,
    /// Memory errors since the driver was loaded that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<u64>,
    /// Memory errors of its life that were not corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncorrected_ever: Option<u64>,
    /// Why its clocks are lowered now, by name; empty where they are not, or only because it is idle.
    pub throttled: Vec<&'static str>,
    /// Degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<u64>,
    /// As `Default` or `Exclusive_Process`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_mode: Option<String>,
    /// A row of its memory that is broken waits for a reset to be replaced, or could not be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<&'static str>,
}

/// GPUs, the CUDA version that the driver supports, and the kernel's Xid lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Driver {
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) cuda: Option<String>,
    pub(crate) xids: Vec<String>,
    pub(crate) problems: Vec<String>,
}

impl Driver {
    /// Asks `nvidia-smi`; nothing is said where there is none.
    pub(crate) fn ask() -> Driver {
        let mut driver = Driver::default();
        let header = match smi(&[]) {
            Ok(header) => header,
            Err(problem) => {
                // Most machines have none.
                if !problem.contains("No such file") {
                    driver.problems.push(problem);
                }
                return driver;
            }
        };
        driver.cuda = header.split_once("CUDA Version:").and_then(|(_, rest)| {
            let version: String = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            (!version.is_empty()).then_some(version)
        });
        let query = |fields: &[&str]| {
            smi(&[format!("--query-gpu={}", fields.join(",")), "--format=csv,noheader,nounits".to_owned()])
        };
        // A field that a driver does not know fails the whole question.
        match query(&FIELDS).or_else(|_| query(&FIELDS[..FEW])) {
            Ok(table) => driver.gpus = table.lines().filter_map(gpu).collect(),
            Err(problem) => driver.problems.push(problem),
        }
        let rows = smi(&[
            "--query-remapped-rows=remapped_rows.pending,remapped_rows.failure".to_owned(),
            "--format=csv,noheader".to_owned(),
        ]);
        // Memory without this is not asked about it.
        for (gpu, row) in driver.gpus.iter_mut().zip(rows.unwrap_or_default().lines()) {
            let mut answers = row.split(',').map(|answer| matches!(answer.trim(), "Yes" | "1"));
            let (pending, failed) = (answers.next() == Some(true), answers.next() == Some(true));
            gpu.rows = if failed { Some("failure") } else { pending.then_some("pending") };
        }
        let mut dmesg = Command::new("dmesg");
        dmesg.arg("--level=err,warn,info,notice").env("LC_ALL", "C");
        match ask(dmesg, LIMIT) {
            Ok(text) => {
                let xids = text.lines().filter(|line| line.contains("NVRM: Xid"));
                driver.xids = xids.map(|line| line.chars().take(200).collect()).collect();
            }
            Err(_) => {
                driver.problems.push("dmesg: the kernel's log may not be read, so Xid errors are not known".to_owned())
            }
        }
        driver
    }
}

fn smi(args: &[String]) -> Result<String, String> {
    let mut command = Command::new("nvidia-smi");
    command.args(args);
    ask(command, LIMIT)
}

fn gpu(row: &str) -> Option<Gpu> {
    let mut cells = row.split(',').map(str::trim);
    let mut gpu = Gpu {
        index: cells.next()?.to_owned(),
        name: cells.next()?.to_owned(),
        driver: cells.next()?.to_owned(),
        ..Gpu::default()
    };
    let mut cell = || cells.next().filter(|cell| !cell.starts_with('[') && !cell.is_empty() && *cell != "N/A");
    let enabled = |cell: Option<&str>| cell.map(|cell| cell == "Enabled");
    let number = |cell: Option<&str>| cell.and_then(|cell| cell.parse().ok());
    gpu.persistence = enabled(cell());
    gpu.ecc = enabled(cell());
    gpu.corrected = number(cell());
    gpu.uncorrected = number(cell());
    gpu.uncorrected_ever = number(cell());
    gpu.throttled = cell().map(throttled).unwrap_or_default();
    gpu.temperature = number(cell());
    gpu.compute_mode = cell().map(str::to_owned);
    Some(gpu)
}

/// `nvmlClocksEventReasons` by bit, without idle, clocks that a person has set, and display clocks.
fn throttled(mask: &str) -> Vec<&'static str> {
    const REASONS: [(u64, &str); 6] = [
        (0x4, "SW power cap"),
        (0x8, "HW slowdown"),
        (0x10, "sync boost"),
        (0x20, "SW thermal slowdown"),
        (0x40, "HW thermal slowdown"),
        (0x80, "HW power brake"),
    ];
    let mask = u64::from_str_radix(mask.trim_start_matches("0x"), 16).unwrap_or(0);
    REASONS.iter().filter(|(bit, _)| mask & bit != 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_does_not_support_is_absent() {
        let whole =
            gpu("0, NVIDIA H100 80GB HBM3, 535.183.01, Enabled, Enabled, 2, 0, 1, 0x0000000000000044, 71, Default")
                .unwrap();
        assert_eq!((whole.persistence, whole.ecc), (Some(true), Some(true)));
        assert_eq!((whole.corrected, whole.uncorrected, whole.uncorrected_ever), (Some(2), Some(0), Some(1)));
        assert_eq!(whole.throttled, ["SW power cap", "HW thermal slowdown"]);
        assert_eq!((whole.temperature, whole.compute_mode.as_deref()), (Some(71), Some("Default")));
        let bare = gpu(
            "1, NVIDIA GeForce RTX 4090, 550.54.14, Disabled, [N/A], [N/A], [N/A], [N/A], 0x0000000000000001, 30, Default",
        );
        let bare = bare.unwrap();
        assert_eq!((bare.persistence, bare.ecc, bare.uncorrected), (Some(false), None, None));
        assert!(bare.throttled.is_empty(), "idle");
        assert_eq!(gpu("2, T4, 470.1, Enabled").unwrap().temperature, None);
        assert_eq!(gpu("No devices were found"), None);
    }
}
