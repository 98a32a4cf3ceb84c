//! One look at an optimizer before its step: its settings, and one pass over all its gradients, unless clipping has just told
//! their norm.

use std::hash::Hasher;

use nanscope_numeric::View;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList};
use rustc_hash::FxHasher;

use crate::scan::{Dtypes, Memory, threads};

/// Below this the lock of the interpreter is kept: giving it up and taking it back costs more than others wait.
const KEPT_BYTES: usize = 4 << 20;

/// An update is sane with learning rates and weight decays below this,
pub(crate) const RATE_SANE: f64 = 1e6;
/// and with an `eps` of at least this: `signals.vouched` in Python, which is asked again when one of them crosses its limit.
pub(crate) const EPS_SANE: f64 = 1e-30;

/// What one look at an optimizer's parameter groups found. Norms are over finite elements.
#[pyclass(frozen, get_all, module = "nanscope._core")]
pub(crate) struct Look {
    /// Parameter with the first gradient that holds an infinity or NaN; None when there is none.
    bad: Option<Py<PyAny>>,
    /// Largest finite magnitude over all gradients that were read; no gradient is larger where none was read.
    pub(crate) largest: f64,
    /// Whether the gradients were read. If not, `zeros` are those of an earlier look, and `squares` what clipping has left.
    pub(crate) read: bool,
    /// Sum of the squares of all finite elements that were read, by parameter group.
    pub(crate) squares: Vec<f64>,
    /// Parameters whose gradient could not be read in place (device memory, sparse), with their group; None when there are none.
    unread: Option<Py<PyList>>,
    /// Gradients that were read.
    pub(crate) gradients: usize,
    /// Positions, among all parameters, of those whose gradient was read and is 0 throughout.
    pub(crate) zeros: Vec<u32>,
    /// Learning rate of the first group; None when it is a tensor or absent.
    pub(crate) lr: Option<f64>,
    /// Largest learning rate of all groups; None when one is a tensor.
    pub(crate) largest_lr: Option<f64>,
    /// Fingerprint of the settings (learning rate, eps, weight decay, number of parameters) of all groups.
    settings: u64,
    /// The same of what an update may depend on: on which side of their limits the settings are, and the number of parameters.
    limits: u64,
}

#[pymethods]
impl Look {
    /// Square root of the sum of all `squares`.
    #[getter]
    pub(crate) fn norm(&self) -> f64 {
        self.squares.iter().sum::<f64>().sqrt()
    }
}

impl Look {
    /// `largest` where it is more than a bound.
    pub(crate) fn largest_read(&self) -> Option<f64> {
        self.read.then_some(self.largest)
    }

    /// Every gradient is known, finite and below `vouched`, and the settings are on the side of their limits that `limits` says.
    pub(crate) fn is_calm(&self, limits: u64, vouched: f64) -> bool {
        self.bad.is_none() && self.unread.is_none() && self.limits == limits && self.largest < vouched
    }
}

/// Looks at the parameter groups of an optimizer.
///
/// Torch functions may be intercepted by a mode or subclass: call with those disabled. Raises KeyError for a group without
/// `params`, RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn look(py: Python<'_>, groups: &Bound<'_, PyList>) -> PyResult<Look> {
    let dtypes = Dtypes::of_torch(py)?;
    let mut read: Vec<Gradient> = vec![];
    let mut unread: Option<Bound<'_, PyList>> = None;
    let Settings { lr, largest_lr, settings, limits } = visit(py, groups, |group, at, parameter, gradient| {
        match Memory::of(&gradient, dtypes)? {
            Some(memory) => read.push(Gradient { group, at, parameter, _owner: gradient, memory }),
            None => unread.get_or_insert_with(|| PyList::empty(py)).append((parameter, group))?,
        }
        Ok(())
    })?;
    let bytes: usize = read.iter().map(|gradient| gradient.memory.bytes()).sum();
    // SAFETY: `read` keeps every gradient, and so its memory, until after the views were read.
    let views: Vec<View> = read.iter().map(|gradient| unsafe { gradient.memory.view() }).collect();
    let passes = if bytes < KEPT_BYTES {
        nanscope_numeric::passes(&views, 1)
    } else {
        let threads = threads(py, bytes)?;
        py.detach(|| nanscope_numeric::passes(&views, threads))
    };
    let mut found = Look {
        bad: None,
        largest: 0.0,
        read: true,
        squares: vec![0.0; groups.len()],
        unread: unread.map(Bound::unbind),
        gradients: read.len(),
        zeros: vec![],
        lr,
        largest_lr,
        settings,
        limits,
    };
    for (gradient, pass) in read.iter().zip(&passes) {
        if !pass.finite && found.bad.is_none() {
            found.bad = Some(gradient.parameter.clone().unbind());
        }
        if pass.finite && pass.max_abs == 0.0 {
            found.zeros.push(gradient.at);
        }
        found.largest = found.largest.max(pass.max_abs);
        found.squares[gradient.group] += pass.sum_squares;
    }
    Ok(found)
}

/// Gradients whose norm torch has computed to clip them, as they were then.
pub(crate) struct Clipped {
    /// Their norm afterwards: a number above 0.
    norm: f64,
    /// Each as an object, and how often it was changed.
    gradients: Vec<(usize, u64)>,
}

impl Clipped {
    /// `norm` is that before, finite: so are all gradients, since a norm is a sum over all of them. `None` where there is
    /// nothing to know.
    pub(crate) fn new(parameters: &Bound<'_, PyList>, norm: f64, max_norm: f64) -> PyResult<Option<Clipped>> {
        // As torch does it: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
        let coefficient = max_norm / (norm + 1e-6);
        let norm = if coefficient < 1.0 { norm * coefficient } else { norm };
        // A coefficient that is NaN has made all gradients NaN.
        if coefficient.is_nan() || !norm.is_finite() || norm <= 0.0 {
            return Ok(None);
        }
        let mut gradients = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let gradient = parameter.getattr(intern!(parameter.py(), "grad"))?;
            if gradient.is_none() {
                continue;
            }
            match seen(&gradient) {
                Some(seen) => gradients.push(seen),
                None => return Ok(None),
            }
        }
        Ok(Some(Clipped { norm, gradients }))
    }

    /// What `look` would find, but for what takes reading. `None` where the gradients of the optimizer are not these, in this
    /// order and unchanged, or have several groups.
    pub(crate) fn look(&self, groups: &Bound<'_, PyList>, zeros: &[u32]) -> PyResult<Option<Look>> {
        if groups.len() != 1 {
            return Ok(None);
        }
        let mut count = 0;
        let mut same = true;
        let Settings { lr, largest_lr, settings, limits } = visit(groups.py(), groups, |_, _, _, gradient| {
            same = same && count < self.gradients.len() && Some(self.gradients[count]) == seen(&gradient);
            count += 1;
            Ok(())
        })?;
        Ok((same && count == self.gradients.len()).then(|| Look {
            bad: None,
            largest: self.norm,
            read: false,
            squares: vec![self.norm * self.norm],
            unread: None,
            gradients: count,
            zeros: zeros.to_vec(),
            lr,
            largest_lr,
            settings,
            limits,
        }))
    }
}

/// A gradient as an object, and how often it was changed; `None` for one that does not count (made in inference mode).
fn seen(gradient: &Bound<'_, PyAny>) -> Option<(usize, u64)> {
    let version = gradient.getattr(intern!(gradient.py(), "_version")).ok()?;
    Some((gradient.as_ptr() as usize, version.extract().ok()?))
}

/// What the groups of an optimizer say of the update to come.
struct Settings {
    lr: Option<f64>,
    largest_lr: Option<f64>,
    settings: u64,
    limits: u64,
}

/// Calls `each(group, position among all parameters, parameter, gradient)` for every gradient.
fn visit<'py>(
    py: Python<'py>,
    groups: &Bound<'py, PyList>,
    mut each: impl FnMut(usize, u32, Bound<'py, PyAny>, Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<Settings> {
    let (mut settings, mut limits) = (FxHasher::default(), FxHasher::default());
    let mut lr = None;
    let mut largest_lr = Some(0.0f64);
    let mut position = 0u32;
    for (number, group) in groups.iter().enumerate() {
        let group = group.cast_into::<PyDict>()?;
        let setting = |name| Ok::<_, PyErr>(group.get_item(name)?.map_or(Setting::Absent, |value| Setting::of(&value)));
        let rate = setting(intern!(py, "lr"))?;
        if let (0, &Setting::Number(x)) = (number, &rate) {
            lr = Some(x);
        }
        largest_lr = match rate {
            Setting::Number(x) => largest_lr.map(|largest| largest.max(x)),
            Setting::Absent => largest_lr,
            Setting::Other => None,
        };
        let (eps, decay) = (setting(intern!(py, "eps"))?, setting(intern!(py, "weight_decay"))?);
        for value in [&rate, &eps, &decay] {
            value.hash(&mut settings);
        }
        for sane in
            [rate.sane(|x| x.abs() < RATE_SANE), eps.sane(|x| x >= EPS_SANE), decay.sane(|x| x.abs() < RATE_SANE)]
        {
            limits.write_u8(sane);
        }
        let params = group.as_any().get_item(intern!(py, "params"))?;
        let mut count = 0u64;
        for parameter in params.try_iter()? {
            let parameter = parameter?;
            count += 1;
            let gradient = parameter.getattr(intern!(py, "grad"))?;
            if !gradient.is_none() {
                each(number, position, parameter, gradient)?;
            }
            position += 1;
        }
        settings.write_u64(count);
        limits.write_u64(count);
    }
    Ok(Settings { lr, largest_lr, settings: settings.finish(), limits: limits.finish() })
}

/// A gradient that can be read in place, while its owner lives.
struct Gradient<'py> {
    group: usize,
    at: u32,
    parameter: Bound<'py, PyAny>,
    _owner: Bound<'py, PyAny>,
    memory: Memory,
}

/// A setting of a parameter group, as far as a change of it matters.
enum Setting {
    Absent,
    Number(f64),
    /// A tensor: its value can change at any time.
    Other,
}

impl Setting {
    fn of(value: &Bound<'_, PyAny>) -> Setting {
        if let Ok(number) = value.cast::<PyFloat>() {
            Setting::Number(number.value())
        } else if value.cast::<PyInt>().is_ok() {
            value.extract().map_or(Setting::Other, Setting::Number)
        } else {
            Setting::Other
        }
    }

    fn hash(&self, into: &mut impl Hasher) {
        match self {
            Setting::Absent => into.write_u8(0),
            Setting::Number(x) => into.write_u64(x.to_bits()),
            Setting::Other => into.write_u8(1),
        }
    }

    /// Which of the kinds that matter it is: a number within its limit or beyond it, absent, anything else.
    fn sane(&self, within: impl Fn(f64) -> bool) -> u8 {
        match self {
            Setting::Absent => 0,
            Setting::Number(x) if within(*x) => 1,
            Setting::Number(_) => 2,
            Setting::Other => 3,
        }
    }
}
