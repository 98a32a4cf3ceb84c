use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ask::ask;

/// Asked in a Python of its own: it needs neither nanscope nor torch there.
const QUESTION: &str = include_str!("../../../python/nanscope/doctor.py");
const LIMIT: Duration = Duration::from_secs(90);

/// What only torch can tell; absent where it does not apply or could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Torch {
    /// Version of Python.
    pub python: Option<String>,
    /// Version of torch; absent where it is not installed.
    pub torch: Option<String>,
    /// CUDA that torch was built with.
    pub cuda: Option<String>,
    /// ROCm that torch was built with.
    pub rocm: Option<String>,
    /// cuDNN in use.
    pub cudnn: Option<String>,
    /// NCCL in use.
    pub nccl: Option<String>,
    /// Devices that torch can use.
    pub devices: Vec<Device>,
    /// Flags of determinism and precision, by the name torch gives them.
    pub settings: Vec<(String, String)>,
    /// Why something could not be asked.
    pub problems: Vec<String>,
}

/// A device that torch can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// As torch names it.
    pub name: String,
    /// Compute capability, as `9.0`.
    pub capability: String,
}

impl Torch {
    /// Asks the Python given.
    pub(crate) fn ask(python: &Path) -> Torch {
        let mut command = Command::new(python);
        command.arg("-c").arg(QUESTION);
        let answer = ask(command, LIMIT).and_then(|text| {
            let last = text.lines().last().unwrap_or_default();
            serde_json::from_str(last).map_err(|error| format!("expected facts as JSON, got: {error}"))
        });
        answer.unwrap_or_else(|problem| Torch { problems: vec![problem], ..Torch::default() })
    }
}
