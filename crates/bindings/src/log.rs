use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nanscope_trace::{Error, Kind, RunInfo, StepRecord, Writer, write_report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The log of one rank in a run folder, open for appending.
///
/// A write that fails (a full disk) is told once, by `OSError` from `trip`, `ledger`, `end` or `note`, never from `step`;
/// later records are dropped and counted in `dropped`.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Log {
    dir: PathBuf,
    writer: Mutex<Writer>,
    opened: Instant,
}

#[pymethods]
impl Log {
    /// Makes the folder `path` and begins the log of the rank that `info_json` names in it.
    ///
    /// Raises `OSError` when the folder cannot be written or holds a log of this rank, `ValueError` for bad JSON.
    #[new]
    fn new(path: PathBuf, info_json: &str) -> PyResult<Self> {
        let info: RunInfo = serde_json::from_str(info_json)
            .map_err(|source| raised(Error::Json { expected: "the facts of a run", source }))?;
        let writer = Writer::create(&path, &info).map_err(raised)?;
        Ok(Log { dir: path, writer: Mutex::new(writer), opened: Instant::now() })
    }

    /// Appends one completed step; the time since the log was opened is read here. `norm` and
    /// `largest` are of the gradients. Never raises for a disk that refuses it: the step is counted in `dropped`.
    #[pyo3(signature = (step, watch_nanos, loss, norm, largest, scale, lr, skipped))]
    #[allow(clippy::too_many_arguments)]
    fn step(
        &self,
        step: u64,
        watch_nanos: u64,
        loss: Option<f64>,
        norm: Option<f64>,
        largest: Option<f64>,
        scale: Option<f64>,
        lr: Option<f64>,
        skipped: bool,
    ) {
        self.append_step(StepRecord {
            step,
            nanos: 0,
            watch_nanos,
            loss,
            grad_norm: norm,
            grad_max: largest,
            scale,
            lr,
            skipped,
        });
    }

    /// Writes the steps that wait for a later record; a disk that refuses them counts them in `dropped`.
    fn flush(&self) {
        let _ = self.writer().flush(); // what was dropped is counted, and said at the end
    }

    /// Appends a trip and waits for the disk.
    ///
    /// Raises `ValueError` for JSON that is no trip, `OSError` for the write that fails.
    fn trip(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.append(py, Kind::Trip, json)
    }

    /// Appends a ledger and waits for the disk. Raises as `trip` does.
    fn ledger(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.append(py, Kind::Ledger, json)
    }

    /// Appends what was tried after a diagnosis and waits for the disk. Raises as `trip` does.
    fn outcomes(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.append(py, Kind::Outcomes, json)
    }

    /// Appends that an update was left out by a `GradScaler`. Raises as `trip` does.
    fn skip(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.append(py, Kind::Skip, json)
    }

    /// Appends the end of the run and waits for the disk. Raises as `trip` does.
    fn end(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        self.append(py, Kind::End, json)
    }

    /// Appends a warning. Raises `OSError` for the write that fails.
    fn note(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        py.detach(|| self.writer().note(text)).map_err(raised)
    }

    /// Writes `report.json` into the folder, whole or not at all.
    ///
    /// Raises `ValueError` for JSON that is no report, `OSError` when it cannot be written.
    fn write_report(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        py.detach(|| write_report(&self.dir, json)).map_err(raised)
    }

    /// Waits for the disk and closes the file. Later records are dropped and counted; closing again does nothing.
    ///
    /// Raises `OSError` when the disk refuses what it took before.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.writer().close()).map_err(raised)
    }

    /// Number of records that were not written.
    #[getter]
    fn dropped(&self) -> u64 {
        self.writer().dropped()
    }

    /// Message of the write that failed; None while all went well.
    #[getter]
    fn failure(&self) -> Option<String> {
        self.writer().failure().map(str::to_owned)
    }

    /// Path of the log file.
    #[getter]
    fn path(&self) -> String {
        self.writer().path().display().to_string()
    }
}

impl Log {
    /// Appends one completed step; `nanos` is read here.
    pub(crate) fn append_step(&self, record: StepRecord) {
        let nanos = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // The writer remembers the failure; `failure` and `dropped` tell it.
        let _ = self.writer().step(&StepRecord { nanos, ..record });
    }

    fn append(&self, py: Python<'_>, kind: Kind, json: &str) -> PyResult<()> {
        py.detach(|| self.writer().append_json(kind, json)).map_err(raised)
    }

    // Never held across a call into Python, so waiting for it while attached cannot lock up.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Whoever let go of the log without closing it is no longer there to be told.
        let _ = self.writer().close();
    }
}

/// What was tried after the diagnoses in the log `path`: a JSON list, one item for each.
///
/// Raises `OSError` when it cannot be read, `ValueError` when it is no log.
#[pyfunction]
pub(crate) fn outcomes(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let log = py.detach(|| nanscope_trace::Log::read(&path)).map_err(raised)?;
    serde_json::to_string(&log.outcomes).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Appends what was tried after the run to the log `path`, which is closed, and waits for the disk.
///
/// Raises `ValueError` for JSON that is no outcomes, `OSError` when it cannot be written.
#[pyfunction]
pub(crate) fn append_outcomes(py: Python<'_>, path: PathBuf, json: &str) -> PyResult<()> {
    let append = || {
        let mut writer = Writer::<std::fs::File>::resume(&path)?;
        writer.append_json(Kind::Outcomes, json)?;
        writer.close()
    };
    py.detach(append).map_err(raised)
}

type Step = (u64, u64, Option<f64>, Option<f64>, bool);

/// The steps in the log `path`: `(step, nanos since the start of the run, loss, gradient norm, skipped)` each.
///
/// Raises `OSError` when it cannot be read, `ValueError` when it is no log.
#[pyfunction]
pub(crate) fn steps(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Step>> {
    let log = py.detach(|| nanscope_trace::Log::read(&path)).map_err(raised)?;
    Ok(log.steps.iter().map(|s| (s.step, s.nanos, s.loss, s.grad_norm, s.skipped)).collect())
}

/// `OSError` (its subclass by kind) for what the system refused, `ValueError` for data at fault.
pub(crate) fn raised(error: Error) -> PyErr {
    match error.io_kind() {
        Some(kind) => io::Error::new(kind, error.to_string()).into(),
        None => PyValueError::new_err(error.to_string()),
    }
}
