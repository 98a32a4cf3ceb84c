use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::gpu::{Driver, Gpu};
use crate::torch::Torch;

/// Everything that was read. What could not be is absent, and named in `problems`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// What torch says.
    pub torch: Torch,
    /// The driver's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The newest CUDA that the driver supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cuda: Option<String>,
    /// What the driver says of each GPU.
    pub gpus: Vec<Gpu>,
    /// The kernel's lines about errors of GPUs, the oldest first.
    pub xids: Vec<String>,
    /// Variables that NCCL, torch, CUDA and their allocators may read.
    pub variables: BTreeMap<String, String>,
    /// `/dev/shm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// Limits of a process.
    pub limits: Vec<Limit>,
    /// Whether there is an InfiniBand or RoCE device.
    pub rdma: bool,
    /// What the kernel tells the time by, as `tsc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// Seconds by which a file of this machine is younger than its clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_behind: Option<u64>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// Shared memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// All of it.
    pub total: u64,
    /// What is free.
    pub free: u64,
}

/// A limit of a process; absent where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// As the kernel names it: `Max open files`.
    pub name: String,
    /// What holds now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft: Option<u64>,
    /// How far the process may raise it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard: Option<u64>,
}

/// Variables that are looked at.
pub(crate) const PREFIXES: [&str; 9] =
    ["NCCL_", "TORCH", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS", "GLOO_"];

impl Facts {
    /// Reads this machine, and asks the Python given.
    pub fn read(python: &Path) -> Facts {
        let driver = Driver::ask();
        let torch = Torch::ask(python);
        let mut problems = driver.problems;
        problems.extend(torch.problems.iter().cloned());
        let limits = fs::read_to_string("/proc/self/limits").map(|text| limits(&text)).unwrap_or_default();
        Facts {
            driver: driver.gpus.first().map(|gpu| gpu.driver.clone()),
            driver_cuda: driver.cuda,
            gpus: driver.gpus,
            xids: driver.xids,
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
                .filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
                .collect(),
            shared: shared(Path::new("/dev/shm")),
            limits,
            rdma: fs::read_dir("/sys/class/infiniband").is_ok_and(|mut found| found.next().is_some()),
            clocksource: fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .ok()
                .map(|text| text.trim().to_owned()),
            clock_behind: clock_behind(SystemTime::now()),
            torch,
            problems,
        }
    }
}

#[cfg(unix)]
fn shared(path: &Path) -> Option<Shared> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(Shared { total: about.f_blocks * about.f_frsize, free: about.f_bavail * about.f_frsize })
}

#[cfg(not(unix))]
fn shared(_: &Path) -> Option<Shared> {
    None
}

/// `/proc/self/limits`: a name, two numbers or `unlimited`, perhaps a unit.
fn limits(text: &str) -> Vec<Limit> {
    const ASKED: [&str; 4] = ["Max open files", "Max locked memory", "Max stack size", "Max processes"];
    let limit = |line: &str| {
        let name = ASKED.iter().find(|name| line.starts_with(**name))?;
        let mut numbers = line[name.len()..].split_whitespace().map(|number| number.parse().ok());
        Some(Limit { name: (*name).to_owned(), soft: numbers.next()?, hard: numbers.next()? })
    };
    text.lines().filter_map(limit).collect()
}

/// A clock that is behind its own files was not set: logs of several machines cannot be laid side by side then.
fn clock_behind(now: SystemTime) -> Option<u64> {
    const NOISE: Duration = Duration::from_secs(3600);
    let newest = ["/etc/hostname", "/etc/resolv.conf", "/tmp", "/var/log", "."]
        .iter()
        .filter_map(|path| fs::metadata(path).ok()?.modified().ok())
        .max()?;
    let before_any_torch = now < UNIX_EPOCH + Duration::from_secs(1_500_000_000);
    let behind = newest.duration_since(now).unwrap_or_default();
    (behind > NOISE || before_any_torch).then_some(behind.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_kernel() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max stack size            8388608              unlimited            bytes     \n\
                    Max open files            1024                 1048576              files     \n";
        let found = limits(text);
        assert_eq!((found[0].soft, found[0].hard), (Some(8_388_608), None));
        assert_eq!(
            (found[1].name.as_str(), found[1].soft, found[1].hard),
            ("Max open files", Some(1024), Some(1 << 20))
        );
    }

    #[test]
    fn a_clock_that_was_never_set_shows() {
        assert!(clock_behind(UNIX_EPOCH).is_some());
        assert_eq!(clock_behind(SystemTime::now() + Duration::from_secs(7200)), None);
    }
}
