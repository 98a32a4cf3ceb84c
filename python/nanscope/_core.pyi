"""
Kernels, the run folder, the diagnosis and the command line of nanscope.
"""

from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

from _typeshed import SupportsGetItem
from typing_extensions import disjoint_base

__all__ = [
    "EPS_SANE",
    "RATE_SANE",
    "Alarm",
    "Aside",
    "Backward",
    "Calm",
    "Checks",
    "Clock",
    "Command",
    "Event",
    "Functions",
    "GuiltySearch",
    "Habits",
    "IslandSearch",
    "Log",
    "Look",
    "Made",
    "Modules",
    "Monitor",
    "Noted",
    "Pass",
    "Recording",
    "Ref",
    "Shortcut",
    "Tape",
    "__version__",
    "all_finite",
    "append_outcomes",
    "caller",
    "census",
    "checkpoint_plan",
    "checkpoint_write",
    "counts",
    "diagnose",
    "diff_told",
    "digest",
    "drift",
    "fixed",
    "imprints",
    "locale",
    "look",
    "main",
    "merged",
    "outcomes",
    "parse",
    "plain_read",
    "plan",
    "rank",
    "render",
    "scan",
    "single",
    "steps",
    "write_report",
]

EPS_SANE: Final[float]
RATE_SANE: Final[float]
__version__: Final[str]

@final
class Alarm:
    """
    What shows over several steps while every value is still finite.
    """
    @property
    def index(self, /) -> int:
        """
        Its position among all alarms of the monitor.
        """
    @property
    def kind(self, /) -> str:
        """
        `divergence`, `loss-scale-collapse`, `silent-zero`, `pile-up`, `zero-rate` or `dead-units`.
        """
    @property
    def seen(self, /) -> int:
        """
        Where it was certain.
        """
    @property
    def step(self, /) -> int:
        """
        Where it began.
        """

@final
class Aside:
    """
    Stands in for a method that runs with recording off, and is told of an error if there was one, as `__exit__` is.
    """
    def __call__(self, /, *args: object, **kwargs: object) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __new__(cls, /, recorder: Recording, original: Any, raised: Any) -> Aside:
        """
        `raised(self, ...)` is called after `original` if that was told of an error.
        """

@final
class Backward:
    """
    Stands in for `Tensor.backward`: the plain call of a finite loss without a frame of Python, all else handed to Python
    before anything was done.
    """
    def __call__(self, /, *args: object, **kwargs: object) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __new__(cls, /, recorder: Recording, calm: Calm, original: Any, other: Any, loss: Any) -> Backward:
        """
        `other` is called instead of `original` for a pass that is not plain; `loss(event, roots)` is told of a loss that has
        to be looked at, and may raise.
        """
    def __reduce__(self, /) -> Any:
        """
        As a function of this name, for pickles.
        """

@final
class Calm:
    """
    The hooks before and after an optimizer's step.
    """
    def __new__(
        cls,
        /,
        recorder: Recording,
        monitor: Monitor,
        clock: Clock,
        before: Any,
        after: Any,
        alarmed: Any,
        vouched: SupportsFloat | SupportsIndex,
    ) -> Calm:
        """
        `before` and `after` are the hooks for steps that are not calm, `alarmed(alarm, optimizer, loss)` is told of an alarm and
        may raise. A step is calm only while its gradients are below `vouched`.
        """
    def abandon(self, /) -> bool:
        """
        The step that is running has raised: recording is on again. True if it was a calm one.
        """
    def clipped(self, /, parameters: list, max_norm: SupportsFloat | SupportsIndex, norm: Any) -> None:
        """
        `torch.nn.utils.clip_grad_norm_(parameters, max_norm)` has returned `norm`, a 2-norm. What it has read need not be read
        again before the update, unless something happens in between.
        """
    def end_step(self, /) -> int:
        """
        The time taken in the running step, which is over: counted in `total_nanos`.
        """
    def forget(self, /) -> None:
        """
        Nothing is calm until Python says so again.
        """
    def hook_after(self, /, optimizer: Any, args: tuple, kwargs: dict) -> None:
        """
        The hook after a step, as torch calls it.
        """
    def hook_before(self, /, optimizer: Any, args: tuple, kwargs: dict) -> Any:
        """
        The hook before a step, as torch calls it.
        """
    def know(self, /, optimizer: Any, limits: SupportsIndex, number: SupportsIndex) -> None:
        """
        Steps of `optimizer` are calm from now on while this is the fingerprint of its limits.
        """
    def look_at(self, /, step: SupportsIndex | None) -> None:
        """
        The first step from `step` on is handed to Python, calm or not; None for none. It stays until it is set anew.
        """
    @property
    def loss(self, /) -> float | None:
        """
        The loss of the running step.
        """
    @loss.setter
    def loss(self, /, loss: SupportsFloat | SupportsIndex | None) -> None: ...
    def read_loss(self, /, event: Event, root: Any) -> bool:
        """
        Reads the loss that backward begins from; true when it is a finite number of the CPU, and so nothing to look at.
        """
    def read_unscaled(self, /, loss: Any) -> None:
        """
        A `GradScaler` is about to scale this loss: what is recorded is its value, not the product. Of a loss that is no number of
        the CPU nothing is known.
        """
    def scaled_by(self, /, scaler: Any) -> None:
        """
        The `GradScaler` in use: its scale goes into the records of steps.
        """
    def spent(self, /, nanos: SupportsIndex) -> None:
        """
        Counts time that the watch has taken in the running step.
        """
    @property
    def total_nanos(self, /) -> int:
        """
        All time taken in steps that are over.
        """
    @property
    def unscaled(self, /) -> float | None:
        """
        What `read_unscaled` has read in the running step.
        """
    def write_to(self, /, log: Log | None) -> None:
        """
        Where the records of steps go; None once it is closed.
        """

@final
class Checks:
    """
    In which steps things that must agree are compared: steps from one comparison to the next, None for never.

    `recompute` is 0 for one comparison only; `ranks` is 0 where it is left to what a comparison costs. Raises `ValueError` for
    a text that is not as `--check` takes it: words separated by commas.
    """
    def __new__(cls, /, text: str) -> Checks: ...
    @property
    def attention(self, /) -> int | None: ...
    @property
    def ranks(self, /) -> int | None: ...
    @property
    def recompute(self, /) -> int | None: ...
    @property
    def repeat(self, /) -> int | None: ...

@final
class Clock:
    """
    Which step of the user's loop it is, with any number of optimizers.

    Counts rounds of optimizer steps: a round ends when an optimizer steps that has stepped in it already, or when one of
    its optimizers is gone. With one optimizer this is the number of completed steps; with a GAN's two, the number of
    completed loop iterations.
    """
    def __new__(cls, /) -> Clock: ...
    def completed(self, /) -> int:
        """
        Steps completed so far, a begun round counted.
        """
    def now(self, /) -> int:
        """
        The step that the program is in, when no optimizer is at work.
        """
    def step_of(self, /, optimizer: Any) -> int:
        """
        The step that `optimizer` is about to take.
        """
    def stepped(self, /, optimizer: Any) -> int:
        """
        `optimizer` has completed (or skipped) a step; returns which.
        """

@final
class Command:
    """
    A command line, understood.

    `kind` is `"run"` when Python has a script to run: then exactly one of `script` and `module` is there, and `args` are
    its own; `nproc_per_node` is the number of ranks to start, None for the script alone; `check` is what is compared, as
    `Checks` reads it. It is `"checkpoint"` when checkpointing of a script is to be tuned: `limit` in bytes, `step`, `every`,
    `setting`, `format`. It is `"prove"` when a fix is to be run once more: `out` is the run folder, `number` that of the fix.
    It is `"exit"` when the command was executed already: then `status` is the exit status.
    """
    @property
    def args(self, /) -> list[str]: ...
    @property
    def budget(self, /) -> int: ...
    @property
    def check(self, /) -> str: ...
    @property
    def color(self, /) -> str: ...
    @property
    def diagnose_first(self, /) -> int: ...
    @property
    def every(self, /) -> list[int]: ...
    @property
    def format(self, /) -> str: ...
    @property
    def json(self, /) -> str | None: ...
    @property
    def kind(self, /) -> str: ...
    @property
    def lang(self, /) -> str: ...
    @property
    def limit(self, /) -> int | None: ...
    @property
    def module(self, /) -> str | None: ...
    @property
    def nproc_per_node(self, /) -> int | None: ...
    @property
    def number(self, /) -> int: ...
    @property
    def on_trip(self, /) -> str: ...
    @property
    def out(self, /) -> str | None: ...
    @property
    def script(self, /) -> str | None: ...
    @property
    def setting(self, /) -> str | None: ...
    @property
    def status(self, /) -> int | None: ...
    @property
    def step(self, /) -> int: ...

@final
class Event:
    """
    A call at the top level of the program. Arguments hold `Ref`s where an earlier event made the tensor.

    `kind` is one of `function`, `module`, `call` (an opaque callable), `backward`, `grad`, `step`. `place` is
    `(code, instruction offset, line)` of the caller in user code: three references, no frame is held. `autocast` lists
    `(device, dtype)`; `random` is the state of the generators before the call; `saved_hooks` are `(pack, unpack)`; `state`
    is what a module call may change; `value` is the loss of a backward; `scalar` says that its one result is a scalar with
    a graph: it may be a loss.
    """
    def __new__(cls, /) -> Event:
        """
        An event that took place with gradients on and nothing else in force.
        """
    @property
    def args(self, /) -> Any: ...
    @args.setter
    def args(self, /, args: Any) -> None: ...
    @property
    def autocast(self, /) -> Any: ...
    @autocast.setter
    def autocast(self, /, autocast: Any) -> None: ...
    @property
    def failed(self, /) -> bool: ...
    @failed.setter
    def failed(self, /, value: bool) -> None: ...
    @property
    def grad_mode(self, /) -> bool: ...
    @grad_mode.setter
    def grad_mode(self, /, value: bool) -> None: ...
    @property
    def inference(self, /) -> bool: ...
    @inference.setter
    def inference(self, /, value: bool) -> None: ...
    @property
    def kind(self, /) -> Any: ...
    @kind.setter
    def kind(self, /, kind: Any) -> None: ...
    @property
    def kwargs(self, /) -> Any: ...
    @kwargs.setter
    def kwargs(self, /, kwargs: Any) -> None: ...
    @property
    def outputs(self, /) -> int: ...
    @outputs.setter
    def outputs(self, /, value: SupportsIndex) -> None: ...
    @property
    def place(self, /) -> Any | None: ...
    @place.setter
    def place(self, /, value: Any | None) -> None: ...
    @property
    def random(self, /) -> Any | None: ...
    @random.setter
    def random(self, /, value: Any | None) -> None: ...
    @property
    def saved_hooks(self, /) -> Any | None: ...
    @saved_hooks.setter
    def saved_hooks(self, /, value: Any | None) -> None: ...
    @property
    def scalar(self, /) -> bool: ...
    @scalar.setter
    def scalar(self, /, value: bool) -> None: ...
    @property
    def serial(self, /) -> int: ...
    @serial.setter
    def serial(self, /, value: SupportsIndex) -> None: ...
    @property
    def state(self, /) -> Any | None: ...
    @state.setter
    def state(self, /, value: Any | None) -> None: ...
    @property
    def target(self, /) -> Any: ...
    @target.setter
    def target(self, /, target: Any) -> None: ...
    @property
    def value(self, /) -> float | None: ...
    @value.setter
    def value(self, /, value: SupportsFloat | SupportsIndex | None) -> None: ...

@final
class Functions:
    """
    What a function mode calls: a function that is passed by, and one that only computes, without a frame of Python.
    """
    def __call__(
        self, /, mode: Any, func: Any, types: Any, args: tuple | None = None, kwargs: dict | None = None
    ) -> Any:
        """
        As `__torch_function__` of a mode.
        """
    def __new__(
        cls, /, recorder: Recording, kinds: dict, skip: SupportsIndex, pure: SupportsIndex, other: Any, returned: Any
    ) -> Functions:
        """
        `kinds` tells what a function is: `skip` is passed by, `pure` computes, and all else, what it does not know included, is
        `other(func, types, args, kwargs)`. `returned(func, args, kwargs, result, pinned)` is told of results after backward;
        `pinned` says that one has a graph.
        """

@final
class GuiltySearch:
    """
    The search for the samples of a batch that make the step fail.
    """
    def __new__(cls, /, n: SupportsIndex, limit: SupportsIndex) -> GuiltySearch:
        """
        Over samples `0..n`; at most `limit` replays.
        """
    def answer(
        self,
        /,
        samples: SupportsGetItem[int, SupportsIndex],
        stand_in: SupportsIndex,
        finite: bool,
        rows: SupportsGetItem[int, SupportsIndex],
    ) -> None:
        """
        What that replay has shown: whether it was finite, and the samples whose rows were bad first.
        """
    def found(self, /) -> tuple[list[int], bool, bool, int] | None:
        """
        `(guilty, enough, each, replays)`: finite without them, and each fails by itself. None while the search is not over.
        """
    def next(self, /) -> tuple[list[int], int] | None:
        """
        `(samples, stand_in)`: the replay wanted next keeps `samples` and has copies of `stand_in` for all others. None when
        the search is over.
        """

@disjoint_base
class Habits:
    """
    What calls of an outermost module were seen to do, as far as every call asks.
    """
    def __new__(cls, /, root: Any) -> Habits: ...
    def draws(self, /, training: Any) -> bool:
        """
        Whether the next call may draw random numbers from torch. Once it has, it always may; `looked` is told afterwards.

        A module that begins to draw between two looks makes the replay of that step unfaithful, which is seen and mended by
        a rerun; the state of all generators at every call would cost more than the rest of its recording.
        """
    def has_drawn(self, /, training: Any) -> bool:
        """
        Whether a call was seen to draw random numbers.
        """
    def looked(self, /, training: Any, drew: bool) -> None:
        """
        A call is over that might have drawn random numbers, and has or has not.
        """
    def root(self, /) -> Any | None:
        """
        The module; None when it is gone.
        """
    @property
    def steady(self, /) -> bool:
        """
        Nothing was ever seen to change: there is nothing to copy before a call.
        """
    @steady.setter
    def steady(self, /, steady: bool) -> None: ...

@final
class IslandSearch:
    """
    The search for the smallest set of units that must run in a wider format.
    """
    def __new__(cls, /, units: SupportsIndex, limit: SupportsIndex) -> IslandSearch:
        """
        Over units `0..units`, in the order in which they are called first; at most `limit` replays.
        """
    def answer(
        self, /, units: SupportsGetItem[int, SupportsIndex], finite: bool, birth: SupportsIndex | None = None
    ) -> None:
        """
        What the replay of `units` has shown: whether it was finite, and the unit of the first bad value.
        """
    def found(self, /) -> tuple[list[int], bool, list[list[int]], tuple[list[int], list[int]] | None, int] | None:
        """
        `(members, minimal, alternatives, not monotone, replays)`; the fourth is a finite set and a larger one that is not.
        None while the search is not over.
        """
    def next(self, /) -> list[int] | None:
        """
        Units (ascending) whose replay in the wider format is wanted next; None when the search is over.
        """

@final
class Log:
    """
    The log of one rank in a run folder, open for appending.

    A write that fails (a full disk) is told once, by `OSError` from `trip`, `ledger`, `end` or `note`, never from `step`;
    later records are dropped and counted in `dropped`.
    """
    def __new__(cls, /, path: str | PathLike[str], info_json: str) -> Log:
        """
        Makes the folder `path` and begins the log of the rank that `info_json` names in it.

        Raises `OSError` when the folder cannot be written or holds a log of this rank, `ValueError` for bad JSON.
        """
    def close(self, /) -> None:
        """
        Waits for the disk and closes the file. Later records are dropped and counted; closing again does nothing.

        Raises `OSError` when the disk refuses what it took before.
        """
    @property
    def dropped(self, /) -> int:
        """
        Number of records that were not written.
        """
    def end(self, /, json: str) -> None:
        """
        Appends the end of the run and waits for the disk. Raises as `trip` does.
        """
    @property
    def failure(self, /) -> str | None:
        """
        Message of the write that failed; None while all went well.
        """
    def flush(self, /) -> None:
        """
        Writes the steps that wait for a later record; a disk that refuses them counts them in `dropped`.
        """
    def ledger(self, /, json: str) -> None:
        """
        Appends a ledger and waits for the disk. Raises as `trip` does.
        """
    def note(self, /, text: str) -> None:
        """
        Appends a warning. Raises `OSError` for the write that fails.
        """
    def outcomes(self, /, json: str) -> None:
        """
        Appends what was tried after a diagnosis and waits for the disk. Raises as `trip` does.
        """
    @property
    def path(self, /) -> str:
        """
        Path of the log file.
        """
    def skip(self, /, json: str) -> None:
        """
        Appends that an update was left out by a `GradScaler`. Raises as `trip` does.
        """
    def step(
        self,
        /,
        step: SupportsIndex,
        watch_nanos: SupportsIndex,
        loss: SupportsFloat | SupportsIndex | None,
        norm: SupportsFloat | SupportsIndex | None,
        largest: SupportsFloat | SupportsIndex | None,
        scale: SupportsFloat | SupportsIndex | None,
        lr: SupportsFloat | SupportsIndex | None,
        skipped: bool,
    ) -> None:
        """
        Appends one completed step; the time since the log was opened is read here. `norm` and
        `largest` are of the gradients. Never raises for a disk that refuses it: the step is counted in `dropped`.
        """
    def trip(self, /, json: str) -> None:
        """
        Appends a trip and waits for the disk.

        Raises `ValueError` for JSON that is no trip, `OSError` for the write that fails.
        """
    def write_report(self, /, json: str) -> None:
        """
        Writes `report.json` into the folder, whole or not at all.

        Raises `ValueError` for JSON that is no report, `OSError` when it cannot be written.
        """

@final
class Look:
    """
    What one look at an optimizer's parameter groups found. Norms are over finite elements.
    """
    @property
    def bad(self, /) -> Any | None:
        """
        Parameter with the first gradient that holds an infinity or NaN; None when there is none.
        """
    @property
    def gradients(self, /) -> int:
        """
        Gradients that were read.
        """
    @property
    def largest(self, /) -> float:
        """
        Largest finite magnitude over all gradients that were read; no gradient is larger where none was read.
        """
    @property
    def largest_lr(self, /) -> float | None:
        """
        Largest learning rate of all groups; None when one is a tensor.
        """
    @property
    def limits(self, /) -> int:
        """
        The same of what an update may depend on: on which side of their limits the settings are, and the number of parameters.
        """
    @property
    def lr(self, /) -> float | None:
        """
        Learning rate of the first group; None when it is a tensor or absent.
        """
    @property
    def norm(self, /) -> float:
        """
        Square root of the sum of all `squares`.
        """
    @property
    def read(self, /) -> bool:
        """
        Whether the gradients were read. If not, `zeros` are those of an earlier look, and `squares` what clipping has left.
        """
    @property
    def settings(self, /) -> int:
        """
        Fingerprint of the settings (learning rate, eps, weight decay, number of parameters) of all groups.
        """
    @property
    def squares(self, /) -> list[float]:
        """
        Sum of the squares of all finite elements that were read, by parameter group.
        """
    @property
    def unread(self, /) -> list | None:
        """
        Parameters whose gradient could not be read in place (device memory, sparse), with their group; None when there are none.
        """
    @property
    def zeros(self, /) -> list[int]:
        """
        Positions, among all parameters, of those whose gradient was read and is 0 throughout.
        """

@final
class Made:
    """
    Which event made a tensor, as which of its outputs. `chain` counts in-place changes under `no_grad`.
    """
    @property
    def chain(self, /) -> int: ...
    @property
    def event(self, /) -> Event: ...
    @property
    def position(self, /) -> int: ...
    def tensor(self, /) -> Any | None:
        """
        The tensor; None when it is gone.
        """

@final
class Modules:
    """
    Calls of outermost modules: those of a module that only computes are recorded without a frame of Python.
    """
    def __call__(self, /, module: Any, args: tuple, kwargs: dict) -> Any: ...
    def __new__(
        cls, /, recorder: Recording, original: Any, other: Any, seen: Any, compiler: dict, is_compiling: Any
    ) -> Modules:
        """
        `other(module, args, kwargs)` is called for a module that may change something, draw random numbers, or is watched by a
        tracer; `seen(event, tensors, arguments)` is told of a call without a graph, and may raise. `compiler` is the
        namespace of `torch.compiler`.
        """

@final
class Monitor:
    """
    The memory of one run. Bounded; safe to use from several threads.
    """
    def __new__(cls, /) -> Monitor:
        """
        A monitor that has seen nothing.
        """
    def batch(self, /, step: SupportsIndex, recording: Recording) -> None:
        """
        Looks at what came into the running step from outside, as `recording` has noted it, if that was not done yet.
        `inputs` tells the rest.
        """
    def batch_due(self, /, norm: SupportsFloat | SupportsIndex, recording: Recording) -> bool:
        """
        Whether the inputs of a step with this gradient norm are to be looked at: all of the first steps, later every 16th
        and those where the norm jumps. Asked once a step; `recording` is told whether to keep those of the next.
        """
    def history_json(self, /) -> str:
        """
        All that is remembered, as JSON: `history` of a ledger.
        """
    def inputs(
        self, /, step: SupportsIndex, tensors: list, slots: SupportsGetItem[int, SupportsIndex] | None = None
    ) -> None:
        """
        Looks at what comes into a step from outside, the GIL released: once for every batch, before its forward pass.

        `slots` says which input each tensor is (0 to 31, the same number for the same argument at every step); without it
        their order does. What cannot be read in place is left out. Torch functions may be intercepted by a mode or subclass:
        call with those disabled. Raises RuntimeError when torch has not been imported, ValueError when `slots` are not as
        many as `tensors`.
        """
    def name_inputs(self, /, names: SupportsGetItem[int, str]) -> None:
        """
        Names of the inputs by slot, as the ledger calls them: `argument x of Net.forward`.
        """
    def name_parameters(self, /, optimizer: SupportsIndex, names: SupportsGetItem[int, str]) -> None:
        """
        Names of an optimizer's parameters, in its order. For alarms given so far.
        """
    def observe(
        self,
        /,
        step: SupportsIndex,
        optimizer: SupportsIndex = 0,
        loss: SupportsFloat | SupportsIndex | None = None,
        grad_norm: SupportsFloat | SupportsIndex | None = None,
        grad_max: SupportsFloat | SupportsIndex | None = None,
        groups: SupportsGetItem[int, SupportsFloat | SupportsIndex] = ...,
        tensors: SupportsIndex = 0,
        zeros: SupportsGetItem[int, SupportsIndex] = ...,
        lr: SupportsFloat | SupportsIndex | None = None,
        scale: SupportsFloat | SupportsIndex | None = None,
        skipped: bool = False,
        carried: bool = False,
    ) -> Alarm | None:
        """
        Looks at one optimizer step, taken or skipped; what was not read is None. Gives each kind of alarm once per optimizer.

        `optimizer` counts from 0 in the order in which optimizers were first seen. `groups` are the gradient norms of the
        parameter groups, `tensors` the number of gradients, `zeros` the positions, ascending, of the parameters whose
        gradient is exactly 0 throughout, `lr` the largest of all groups. `carried`: the gradients contain those of the
        previous step.
        """
    def step(
        self,
        /,
        log: Log | None,
        step: SupportsIndex,
        watch_nanos: SupportsIndex,
        optimizer: SupportsIndex,
        loss: SupportsFloat | SupportsIndex | None,
        look: Look,
        scale: SupportsFloat | SupportsIndex | None,
        skipped: bool,
        carried: bool,
    ) -> Alarm | None:
        """
        `observe`, and the step's record in `log`, from one look at the optimizer; `log` is None once it is closed.
        `watch_nanos` is what the watch itself took.
        """
    def trip_json(self, /, alarm: Alarm, rank: SupportsIndex = 0, place: str | None = None) -> str:
        """
        The trip that an alarm of this monitor is, as JSON. `place` is the JSON of the line that called backward or the
        optimizer's step.

        Raises ValueError when `place` is no place, or the alarm is another monitor's.
        """

@final
class Noted:
    """
    Stands in for a method whose call is an event of the tape that gives back nothing.
    """
    def __call__(self, /, *args: object, **kwargs: object) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __new__(cls, /, recorder: Recording, original: Any, other: Any) -> Noted:
        """
        `other` is called instead of `original` for a call with keywords, or of which a tracer has to be told.
        """
    def __reduce__(self, /) -> Any:
        """
        As a function of this name, for pickles.
        """

@final
class Pass:
    """
    What one pass over a list of tensors found. An empty list: nothing bad, both numbers 0.
    """
    @property
    def bytes(self, /) -> int:
        """
        Bytes of the tensors that were read, expanded elements as often as they are seen.
        """
    @property
    def first_bad(self, /) -> int | None:
        """
        Index in the list of the first tensor that holds an infinity or NaN; None when there is none.
        """
    @property
    def max_abs(self, /) -> float:
        """
        Largest finite magnitude over all tensors that were read.
        """
    @property
    def sum_squares(self, /) -> float:
        """
        Sum of the squares of all finite elements that were read, added in float64.
        """
    @property
    def unread(self, /) -> list[int]:
        """
        Indices of what could not be read in place: not on the CPU, not strided, without memory of its own.
        """

@disjoint_base
class Recording:
    """
    The tape of the running step, as far as every event touches it.

    `depth > 0` means: inside something opaque (a module, backward, a step), nothing is recorded. `mode` is the function
    mode that `enter` takes off torch's stack; `tape` holds the lists and dicts that events are written to.

    Counters are atomic and the rest is locked for a moment only: other threads of the program ask too.
    """
    def __new__(cls, /, asks: dict) -> Recording:
        """
        `asks` are torch's answers by name: `tensor`, `parameter`, `atoms`, `flatten`, `pop`, `push`,
        `grad_enabled`, `inference`, `any_autocast`, `autocasts`, `saved_hooks`, `cpu_state`, `other_states`.
        """
    @property
    def aliased(self, /) -> dict:
        """
        Storage -> parameter whose `.data` was taken.
        """
    @property
    def backward_done(self, /) -> bool:
        """
        Whether there was a backward since the last step.
        """
    @backward_done.setter
    def backward_done(self, /, done: bool) -> None: ...
    @property
    def backward_serial(self, /) -> int:
        """
        Of the last backward or grad event.
        """
    @backward_serial.setter
    def backward_serial(self, /, serial: SupportsIndex) -> None: ...
    @property
    def backwards(self, /) -> int:
        """
        Backwards since the last step.
        """
    @backwards.setter
    def backwards(self, /, backwards: SupportsIndex) -> None: ...
    def batch_places(self, /) -> list[tuple[int, int]]:
        """
        Which arguments the inputs of this step are, by slot: `(serial of the event, number among its tensors)`.
        """
    def boundary(self, /) -> None:
        """
        A step has ended: the tape starts anew. Tensors with a graph keep their events alive (GAN, PPO); leaves are state.
        """
    @property
    def carries(self, /) -> list:
        """
        What is told before and after each backward: see `nanscope.course.Carry`.
        """
    @carries.setter
    def carries(self, /, carries: list) -> None: ...
    @property
    def changed(self, /) -> list:
        """
        Buffers that module calls have changed since the last step.
        """
    @property
    def closed(self, /) -> bool: ...
    @closed.setter
    def closed(self, /, closed: bool) -> None: ...
    def count_step(self, /) -> None:
        """
        An optimizer has stepped, or its step was left out.
        """
    @property
    def depth(self, /) -> int: ...
    def done(self, /, event: Event, args: Any, kwargs: dict, result: Any, pinned: bool) -> None:
        """
        `write` and `outputs` in one call, for a call that has returned `result`.
        """
    def encode(self, /, value: Any, tape: Tape | None) -> Any:
        """
        `value` with tensors that earlier events made as `Ref`s. Outside tensors are noted in `tape.held` when a tape is
        given, otherwise in the present tape's `read`.
        """
    def enter(self, /) -> bool:
        """
        Stops recording tensor functions. Returns whether the mode was taken off the stack (give it to `leave`).
        """
    def event(self, /, kind: str, target: Any, random: bool = False) -> Event:
        """
        A new event with the settings in force now. It is on no tape yet.
        """
    def excuse(self, /, error: Any) -> None:
        """
        Our own code has raised `error`: the program goes on as if it had not, and no replay of this step counts as exact.
        Raises it again if it is none of ours: what ends the program is no `Exception`.
        """
    def failed(self, /, event: Event, args: Any, kwargs: dict | None) -> None:
        """
        Writes `event`, whose call has raised, marked as such. Never raises: an error of ours must not take the place of the
        program's, and a replay then ends before this call.
        """
    def forget(self, /, tensor: Any) -> None:
        """
        `tensor` counts as one from outside from now on.
        """
    def forget_stale(self, /) -> None:
        """
        A step has ended: tensors with a graph keep their events (GAN, PPO); the others, and leaves, are state now.
        """
    @property
    def in_backward(self, /) -> bool:
        """
        Whether backward is running.
        """
    @in_backward.setter
    def in_backward(self, /, running: bool) -> None: ...
    def keep_inputs(self, /, keep: bool) -> None:
        """
        Whether the inputs of the coming steps are kept until each ends.
        """
    @property
    def kept(self, /) -> bool:
        """
        Whether the present tape belongs to a trip.
        """
    @kept.setter
    def kept(self, /, kept: bool) -> None: ...
    def know(self, /, module: Any, habits: Habits) -> None:
        """
        Notes what calls of an outermost module were seen to do.
        """
    def known(self, /, module: Any) -> Habits | None:
        """
        What was noted of an outermost module with `know`; None if nothing was.
        """
    def leave(self, /, popped: bool) -> None:
        """
        Undoes `enter`.
        """
    def leaves_since(self, /, serial: SupportsIndex) -> list[Any]:
        """
        Leaves with a gradient that events after `serial` made: new parameters, if `serial` is that of a backward.
        """
    def live(self, /) -> bool:
        """
        True at the top level of the watched thread.
        """
    def living(self, /, event: Event) -> list[Any]:
        """
        The living tensors that `event` made.
        """
    def made_one_of(self, /, tensors: list) -> bool:
        """
        True when an event has made one of these tensors, and a replay makes another in its place.
        """
    @property
    def mode(self, /) -> Any: ...
    @mode.setter
    def mode(self, /, mode: Any) -> None: ...
    @property
    def muted(self, /) -> bool: ...
    def note(
        self, /, kind: str, target: Any, args: Any, kwargs: dict, result: Any, pinned: bool, state: Any | None
    ) -> None:
        """
        `event`, `write` and `outputs` in one call, for what has returned already. `state` is that of the generators before
        the call, or None.
        """
    @property
    def observer(self, /) -> Any:
        """
        A tracer, while a rerun's step is watched as it happens; otherwise None.
        """
    @observer.setter
    def observer(self, /, observer: Any) -> None: ...
    @property
    def on_error(self, /) -> Any:
        """
        Is told, in a sentence, of each error of our own; None while nobody listens.
        """
    @on_error.setter
    def on_error(self, /, told: Any) -> None: ...
    def outputs(self, /, event: Event, result: Any, floating: bool = False, chain: SupportsIndex = 0) -> None:
        """
        Remembers that `event` made the tensors in `result`; of a floating event only while they live.
        """
    def pause(self, /) -> None:
        """
        Stops recording with the mode left where it is; it lets everything through. `resume` undoes it.
        """
    def pin(self, /, event: Event) -> None:
        """
        Puts an event on the tape. A full tape is marked and takes no more.
        """
    def plain(self, /, values: Any) -> bool:
        """
        True when none of the values brings a `__torch_function__` of its own: tensors and parameters of torch's own types,
        and None.
        """
    def producer(self, /, tensor: Any) -> Made | None:
        """
        The event that made `tensor` since the last step, or before it if `tensor` carries a graph.
        """
    def resume(self, /) -> None: ...
    @property
    def roots(self, /) -> list:
        """
        Outermost modules that were called in this step.
        """
    @property
    def serial(self, /) -> int:
        """
        Number of events so far.
        """
    @property
    def steps_taken(self, /) -> int:
        """
        Optimizer steps so far, those left out included.
        """
    @property
    def tape(self, /) -> Tape: ...
    @tape.setter
    def tape(self, /, tape: Tape) -> None: ...
    @property
    def updated(self, /) -> list:
        """
        Parameters that the program itself has changed since backward.
        """
    def write(self, /, event: Event, args: Any, kwargs: dict, pinned: bool) -> None:
        """
        Notes what was called: arguments are encoded into `event`, which goes on the tape if it is `pinned`. One that is
        not is replayed only if a pinned one needs its outputs. A full tape is marked and takes no more.
        """

@final
class Ref:
    """
    An argument that an earlier event made: tensor `position` among the outputs of `event`.
    """
    @property
    def event(self, /) -> Event: ...
    @property
    def position(self, /) -> int: ...

@final
class Shortcut:
    """
    Stands in for `handle_torch_function`, through which torch hands a function written in Python to a mode, at a greater
    cost than recording it: where ours is the only mode and no argument brings its own, ours is called at once.
    """
    def __call__(self, /, *args: object, **kwargs: object) -> Any: ...
    def __new__(cls, /, functions: Functions, depth: Any, original: Any) -> Shortcut:
        """
        `depth()` tells how many modes there are.
        """

@final
class Tape:
    """
    The events since the last optimizer step, and the outside tensors they read.

    `held` maps `id(tensor)` to `(tensor, version when first read)` for pinned events, `read` to a weak reference for the
    others; `originals` maps it to `(tensor, copy made before the first in-place change)`. `fresh` holds weak references to
    outside tensors whose storage was not looked at yet, `storages` maps a storage to that of the outside tensor read
    through it. `unsafe` lists reasons why a replay cannot be exact.
    """
    def __new__(cls, /) -> Tape:
        """
        A tape without events.
        """
    @property
    def events(self, /) -> list: ...
    @events.setter
    def events(self, /, events: list) -> None: ...
    @property
    def fresh(self, /) -> list: ...
    @fresh.setter
    def fresh(self, /, fresh: list) -> None: ...
    @property
    def held(self, /) -> dict: ...
    @held.setter
    def held(self, /, held: dict) -> None: ...
    @property
    def originals(self, /) -> dict: ...
    @originals.setter
    def originals(self, /, originals: dict) -> None: ...
    @property
    def overflow(self, /) -> bool:
        """
        Whether there were more events than a tape takes.
        """
    @property
    def read(self, /) -> dict: ...
    @read.setter
    def read(self, /, read: dict) -> None: ...
    @property
    def storages(self, /) -> dict: ...
    @storages.setter
    def storages(self, /, storages: dict) -> None: ...
    @property
    def unsafe(self, /) -> list: ...

def all_finite(tensors: list) -> bool | None:
    """
    Whether no tensor of a list holds an infinity or NaN. None when all that could be read in place are finite, and some could not.

    Stops at the first block of memory that holds one; the GIL is released. Torch functions may be intercepted by a mode or
    subclass: call with those disabled. Raises RuntimeError when torch has not been imported.
    """

def append_outcomes(path: str | PathLike[str], json: str) -> None:
    """
    Appends what was tried after the run to the log `path`, which is closed, and waits for the disk.

    Raises `ValueError` for JSON that is no outcomes, `OSError` when it cannot be written.
    """

def caller() -> Any | None:
    """
    The innermost frame of user code, as `(code, instruction offset, line)`; None if there is none.

    What user code is, `nanscope.capture.lines.is_user` says, once for each code object.
    """

def census(tensor: Any) -> str | None:
    """
    The census of a tensor as JSON; None when it cannot be read in place, or is a lazy conjugate or negation, whose
    memory holds other signs.

    Raises RuntimeError when torch has not been imported.
    """

def checkpoint_plan(trace: str, every: SupportsGetItem[int, SupportsIndex], limit: SupportsIndex | None = None) -> str:
    """
    Which settings of checkpointing to run, with what the trace of a step predicts of each, as JSON: none, all, every k-th block for
    each of `every`, the program as it is, the best with a peak of at most `limit` bytes. `trace` is a `nanscope_tune::Trace` as JSON.

    Raises `ValueError` when it is none.
    """

def checkpoint_write(folder: str | PathLike[str], tuned: str, lang: str) -> str:
    """
    Writes what was found (JSON, schema `nanscope.checkpoint/1`) into the run folder `folder`: `checkpoint.json`, `checkpoint.svg`, and
    `checkpoint.diff` where there is one. Returns it as text for a terminal, in the language `lang`.

    Raises `OSError` when it cannot be written, `ValueError` when it is no such JSON, or there is no such language.
    """

def counts(tensor: Any) -> tuple[int, int, int, float | None] | None:
    """
    `(nan, posinf, neginf, largest finite magnitude)`; the magnitude is None when no element is finite.

    None when the tensor cannot be read in place or is neither floating-point nor complex. A complex element counts as
    its two parts. Raises RuntimeError when torch has not been imported.
    """

def diagnose(
    info: str, trip: str | None, ledger: str | None, end: str, lang: str = "en", outcomes: str | None = None
) -> str:
    """
    The report of a run, as JSON; its texts are in the language `lang`. `trip` and `ledger` are both there, or both absent
    for a run in which nothing was found; `outcomes` is what was tried after the diagnosis.

    Raises `ValueError` when a text is not what the schema says, or there is no such language.
    """

def diff_told(diff: str, colour: bool) -> str:
    """
    A diff for a terminal.
    """

def digest(tensor: Any) -> int | None:
    """
    64 bits that stand for the bytes of a tensor, read in row-major order; None when it cannot be read in place, or is a
    lazy conjugate or negation.

    Raises RuntimeError when torch has not been imported.
    """

def drift(
    run: Any, reference: Any
) -> tuple[float, float, int, int, int, int, int, bool, int | None, int | None] | None:
    """
    How far a tensor is from `reference`, the same tensor in float64 (complex128), of the same shape and contiguous.

    None when either cannot be read in place, or they do not fit each other. Raises RuntimeError when torch has not been
    imported.
    """

def fixed(folder: str, number: SupportsIndex, lang: str) -> tuple[list[tuple[str, bytes]], str, str]:
    """
    Fix `number` of the run folder `folder`, made in memory: the files as `(path, new bytes)`, the report as JSON, and what is known
    of the run as JSON.

    Raises `ValueError` when there is no such fix, when it has no diff, or when a file has changed since the run.
    """

def imprints(tensors: SupportsGetItem[int, Any]) -> list[tuple[int, int, int] | None]:
    """
    The imprint of each tensor, read in row-major order: tensors of one type and shape that hold the same bits share it. None
    for one that cannot be read in place, or is a lazy conjugate or negation.

    Raises RuntimeError when torch has not been imported.
    """

def locale() -> str:
    """
    The language that the environment asks for: `"en"` or `"ko"`.
    """

def look(groups: list) -> Look:
    """
    Looks at the parameter groups of an optimizer.

    Torch functions may be intercepted by a mode or subclass: call with those disabled. Raises KeyError for a group without
    `params`, RuntimeError when torch has not been imported.
    """

def main(argv: SupportsGetItem[int, str]) -> int:
    """
    Executes any command but `run`, and returns the exit status.

    Raises `ValueError` for `run`, which only Python can do: see `parse`.
    """

def merged(folder: str | PathLike[str], lang: str = "en") -> str:
    """
    The report of all processes whose logs lie in `folder`, as JSON; its texts are in the language `lang`.

    Raises `OSError` when there is no log that can be read, `ValueError` when there is no such language.
    """

def outcomes(path: str | PathLike[str]) -> str:
    """
    What was tried after the diagnoses in the log `path`: a JSON list, one item for each.

    Raises `OSError` when it cannot be read, `ValueError` when it is no log.
    """

def parse(argv: SupportsGetItem[int, str]) -> Command:
    """
    Understands a command line, the program's name first as in `sys.argv`, and executes every command but `run` and
    `checkpoint`.

    Data goes to the process's stdout and talk to its stderr, past `sys.stdout` and `sys.stderr`.
    """

def plain_read(tensor: Any) -> int | None:
    """
    Exclusive or of all 64-bit words in the memory of a tensor: the least that a read of all of it costs, for benchmarks to
    compare with. None when it cannot be read in place. Raises RuntimeError when torch has not been imported.
    """

def plan(report: str, ledger: str, scouted: str) -> str:
    """
    What to try after a diagnosis, as a JSON list of `{id, family, arguments, change: {en, ko}}`, the most telling first.
    `scouted` is what a replay without observation has seen, as JSON.

    Raises `ValueError` when a text is not what the schema says.
    """

def rank(folder: str | PathLike[str], rank: SupportsIndex) -> tuple[str | None, int | None, str | None, str | None]:
    """
    Of rank `rank` of the run in `folder`, where a program has started ranks more than once of the first that tripped: the path of
    its log; the step of its first trip; the ledger of that trip, and what was tried after it, as JSON. Each is None where there is
    none.

    Raises `OSError` when there is no log that can be read.
    """

def render(
    report: str, colour: bool, width: SupportsIndex | None = None, folder: str | None = None, lang: str = "en"
) -> str:
    """
    A report (JSON) as text for a terminal, in the language `lang` but for texts that the report holds already.

    Raises `ValueError` when it is no report, or there is no such language.
    """

def scan(tensors: list) -> Pass:
    """
    Reads every tensor of a list once, the GIL released.

    Torch functions may be intercepted by a mode or subclass: call with those disabled. Raises RuntimeError when torch
    has not been imported; never for what a tensor does, which is listed in `Pass.unread`.
    """

def single(
    one: tuple[SupportsIndex, SupportsIndex, SupportsIndex],
    other: tuple[SupportsIndex, SupportsIndex, SupportsIndex],
    elements: SupportsIndex,
) -> tuple[int, int] | None:
    """
    `(row-major index, bits that differ)` of the single element in which two tensors of `elements` elements differ, told from
    their imprints; None where they are equal or differ in more.
    """

def steps(path: str | PathLike[str]) -> list[tuple[int, int, float | None, float | None, bool]]:
    """
    The steps in the log `path`: `(step, nanos since the start of the run, loss, gradient norm, skipped)` each.

    Raises `OSError` when it cannot be read, `ValueError` when it is no log.
    """

def write_report(folder: str, report: str) -> None:
    """
    Writes `report.json` into the run folder `folder`, whole or not at all.

    Raises `OSError` when it cannot be written, `ValueError` when it is no report.
    """
