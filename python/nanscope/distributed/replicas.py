"""What ranks must have in common, compared between them: parameters, gradients once they are reduced, shared buffers.

A rank posts the imprints of what it has before the update of some steps, and reads the posts of the others before the next
one: by then every rank that trains in step has posted. Nothing is waited for, and nothing is sent through the program's own
process groups. What a difference means is said in Rust (`crates/diagnose/src/apart.rs`).

equal-O-S-rank-R   what rank R has before step S of optimizer O
"""

from __future__ import annotations

import math
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch

from nanscope.capture.parallel import Parallel
from nanscope.capture.recorder import storage_id
from nanscope.distributed.imprints import imprints, samples, single
from nanscope.distributed.scene import scene
from nanscope.replay import comm
from nanscope.replay.names import Names
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

EVERY = 100  # steps from one comparison to the next, where nobody says
COST = 0.01  # of the time of the steps between, at most; otherwise comparisons are rarer
EARLY_STEPS = 4  # compared one by one
KEPT_POSTS = 3  # of this rank, in the run folder
LATE_STEPS = 2  # steps for which a rank that has not posted is looked for
ALL_MAX = 64  # ranks that all read all posts; in larger jobs all but rank 0 read that of rank 0
HAND_POSTS = 3  # equal gradients from unequal losses so often: the program reduces them itself
FACTOR_VALUES = 4  # gradients that differ by one factor, at least
FACTOR_ERROR = 1e-3

Post = dict[str, Any]
KINDS = ("gradients", "parameters", "buffers")


class Replicas:
    """`every`: steps from one comparison to the next, 0 for as often as it costs little, `None` for none. `at` is the next step
    that has something to do."""

    def __init__(self, every: int | None, parallel: Parallel) -> None:
        self.every = every or EVERY
        self._stride = (
            None if every else 1
        )  # times `every`, a power of two that the first rank chooses; `None`: always 1
        self._seconds = 0.0  # of the last post
        self.parallel = parallel
        parallel.left = self._left_join
        self.at: int | None = None if every is None else 0
        self._open: dict[tuple[int, int], Post] = {}  # posts of this rank that were not compared, by optimizer and step
        self._written: dict[int, list[int]] = {}  # steps whose posts lie in the run folder
        self._equal: dict[tuple[int, str], int] = {}  # the last step in which something was equal
        self._writes: dict[int, int] = {}
        self._hands: dict[int, Hand] = {}
        self._local: dict[int, Trip] = {}  # steps in which nothing was meant to be reduced, and gradients differ
        self._by_hand_storages: set[int] = set()
        self._reduced = (-1, 0)  # steps completed, and elements that the program has reduced since
        self._held: dict[int, weakref.WeakValueDictionary[str, torch.Tensor]] = {}  # what was last posted, by name

    def __call__(self, watcher: Watcher, optimizer: Any, norm: float) -> Trip | None:
        """Before an update. The trip, if ranks have come apart."""
        step = watcher.clock.step_of(optimizer)
        if self.at is None or step < self.at or watcher.peers is None or self.parallel.joining:
            return None
        try:
            if comm.ranks():
                trip = self._looked(watcher, optimizer, step, norm)
            else:  # the program goes on alone
                trip = self._last(watcher)
                self.at = None
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            self._off(watcher, f"{type(error).__name__}: {error}")
            return None
        if trip is not None:
            self.at = None
        watcher.calm.look_at(self.at)
        return trip

    def last(self, watcher: Watcher) -> Trip | None:
        """The run ends: what is still open is compared with the posts that are there."""
        try:
            return self._last(watcher)
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            self._off(watcher, f"{type(error).__name__}: {error}")
            return None

    def _left_join(self) -> None:
        """Ranks have taken different numbers of steps: their counts name the same step no more."""
        self.at = None
        self._open.clear()

    def _off(self, watcher: Watcher, reason: str) -> None:
        """Nothing is compared any more."""
        self.at = None
        self._open.clear()
        watcher.calm.look_at(None)
        watcher.warn(f"ranks are not compared any more: {reason}")

    def _looked(self, watcher: Watcher, optimizer: Any, step: int, norm: float) -> Trip | None:
        number = watcher.course.number(optimizer)
        trip = None
        for key, post in list(self._open.items()):
            if key[0] == number and key[1] < step and trip is None:
                trip = self._compared(watcher, optimizer, post, last=step - key[1] >= LATE_STEPS)
        if trip is None and self._is_due(step):
            self._post(watcher, optimizer, number, step, norm)
        if self.at is not None:
            self.at = step if self._is_due(step) else self._next(step)
        return trip

    def _last(self, watcher: Watcher) -> Trip | None:
        optimizers = {watcher.course.number(optimizer): optimizer for optimizer in list(watcher.optimizers)}
        for (number, _), post in list(self._open.items()):
            if number in optimizers and self.at is not None:
                trip = self._compared(watcher, optimizers[number], post, last=True)
                if trip is not None:
                    return trip
        return None

    def reduced(self, watcher: Watcher, tensors: list[torch.Tensor]) -> None:
        """The program has reduced `tensors` itself. Parameters that it averages are not meant to be equal in between."""
        completed = watcher.clock.completed()
        if not self._by_hand_storages or completed == 0:
            return
        before = self._reduced[1] if self._reduced[0] == completed else 0
        self._reduced = (completed, before + sum(t.numel() for t in tensors))
        if any(storage_id(t) in self._by_hand_storages for t in tensors):
            for hand in self._hands.values():
                hand.known = False

    def _is_due(self, step: int) -> bool:
        every = self.every * (self._stride or 1)
        return step < EARLY_STEPS or step % every == 0 or (step < self.every and step & (step - 1) == 0)

    def _next(self, step: int) -> int:
        later = step + 1
        while not self._is_due(later) and not (self._open and later - step <= LATE_STEPS):
            later += 1
        return later

    # ---- a post

    def _post(self, watcher: Watcher, optimizer: Any, number: int, step: int, norm: float) -> None:
        peers = watcher.peers
        assert peers is not None
        start = time.perf_counter()
        what = replicated(optimizer, self.parallel)
        if what is None:
            return
        parameters = list(what.parameters.values())
        if what.mode == "hand":
            self._hands.setdefault(number, Hand())
            self._by_hand_storages.update(map(storage_id, parameters))
        changed = {id(t) for t in watcher.recorder.changed}
        buffers = {name: b for name, b in what.buffers.items() if id(b) not in changed}
        gradients = [p.grad for p in parameters]
        writes = sum(p._version for p in parameters)
        post: Post = {
            "rank": peers.rank, "step": step, "number": number, "mode": what.mode, "ranks": what.ranks,
            "parameters": dict(zip(what.parameters, imprints(parameters), strict=True)),
            "gradients": dict(zip(what.parameters, imprints(gradients), strict=True)),
            "buffers": dict(zip(buffers, imprints(list(buffers.values())), strict=True)),
            "reduced": self._reduced[0] == watcher.clock.completed()
            and 2 * self._reduced[1] >= sum(p.numel() for p in parameters),
            "sizes": {name: p.numel() for name, p in what.parameters.items()},
            "sample": samples(gradients), "stride": self._fitting(watcher._step_seconds()),
            "about": {
                "loss": watcher.calm.loss, "norm": norm, "writes": writes - self._writes.get(number, writes),
                **scene(watcher, optimizer, what.models, self.parallel),
            },
        }  # fmt: skip
        self._writes[number] = writes
        watcher.run_folder.flush()
        if not peers.post(name(number, step, peers.rank), post):
            self._off(watcher, f"{peers.folder} cannot be written")
            return
        self._held[number] = weakref.WeakValueDictionary({**what.parameters, **buffers})
        self._open[number, step] = post
        written = self._written.setdefault(number, [])
        written.append(step)
        while len(written) > KEPT_POSTS:
            peers.withdraw(name(number, written.pop(0), peers.rank))
        self._seconds = time.perf_counter() - start

    def _fitting(self, step_seconds: float) -> int:
        """The least power of two of `every` steps in which a post costs little enough."""
        stride = 1
        while self._seconds > COST * stride * self.every * step_seconds and stride < 1 << 20:
            stride *= 2
        return stride

    # ---- comparison

    def _compared(self, watcher: Watcher, optimizer: Any, mine: Post, last: bool) -> Trip | None:
        peers = watcher.peers
        assert peers is not None
        number, step = mine["number"], mine["step"]
        wanted = [rank for rank in mine["ranks"] if rank != peers.rank]
        if len(wanted) >= ALL_MAX and peers.rank != mine["ranks"][0]:
            wanted = mine["ranks"][:1]
        others = [post for rank in wanted if (post := peers.posted(name(number, step, rank)))]
        if len(others) < len(wanted) and not last:
            return None
        del self._open[number, step]
        if not others:
            return None
        posts = sorted([mine, *others], key=lambda post: int(post["rank"]))
        if self._stride is not None:
            self._stride = posts[0][
                "stride"
            ]  # a rank that has missed it compares at fewer or more steps, of which some are common
        if mine["mode"] == "hand":
            if any(post["mode"] != "hand" for post in posts) or len(others) < len(wanted):
                return None
            return self._by_hand(watcher, optimizer, posts)
        return self._of_module(watcher, optimizer, posts)

    def _of_module(self, watcher: Watcher, optimizer: Any, posts: list[Post]) -> Trip | None:
        number = posts[0]["number"]
        unlike = {kind: differing(posts, kind) for kind in KINDS}
        if any(unlike.values()) and all(post["about"]["local"] for post in posts):
            # A step of its own for every rank may be meant: local SGD. It is not if gradients are reduced later on.
            self._local.setdefault(number, self._trip(watcher, optimizer, posts, unlike))
            return None
        if any(unlike.values()):
            return self._local.pop(number, None) or self._trip(watcher, optimizer, posts, unlike)
        self._local.pop(number, None)
        self._agreed(posts)
        return None

    def _by_hand(self, watcher: Watcher, optimizer: Any, posts: list[Post]) -> Trip | None:
        """Gradients that are equal although losses are not were reduced, whoever did that."""
        hand = self._hands.setdefault(posts[0]["number"], Hand())
        if hand.known is False:
            return None
        unlike = {kind: differing(posts, kind) for kind in KINDS}
        if any(post["sizes"] != posts[0]["sizes"] for post in posts):
            hand.known = False
            return None
        if hand.known is None:
            if not all(math.isfinite(post["about"]["norm"]) and post["about"]["norm"] > 0 for post in posts):
                return None
            if unlike["gradients"]:
                hand.known = False
                return None
            if unlike["parameters"] and hand.first is None:
                hand.first = self._trip(watcher, optimizer, posts, unlike)
            hand.count += 1
            hand.told_apart |= len({post["about"]["loss"] for post in posts}) > 1
            if hand.first is None:
                self._agreed(posts)
            if hand.count < HAND_POSTS or not hand.told_apart:
                return None
            hand.known = True
            return hand.first
        if any(
            unlike.values()
        ):  # where nothing was reduced, the program may have gone over to steps of its own for every rank
            return self._trip(watcher, optimizer, posts, unlike) if all(post["reduced"] for post in posts) else None
        self._agreed(posts)
        return None

    def _agreed(self, posts: list[Post]) -> None:
        for kind in KINDS:
            self._equal[posts[0]["number"], kind] = posts[0]["step"]

    def _trip(self, watcher: Watcher, optimizer: Any, posts: list[Post], unlike: dict[str, list[str]]) -> Trip:
        number, step = posts[0]["number"], posts[0]["step"]
        kind = next(kind for kind in KINDS if unlike[kind])
        if kind == "gradients" and unlike["parameters"] and (number, "parameters") not in self._equal:
            kind = "parameters"  # they were never equal: nothing else could be
        keys = unlike[kind]
        held = self._held.get(number)
        tensors: dict[str, torch.Tensor] = {} if held is None else dict(held)
        names = Names(watcher.recorder.roots, [optimizer])

        def called(key: str) -> str:
            tensor = tensors.get(key) if posts[0]["mode"] == "hand" else None
            return (None if tensor is None else names.of(tensor)) or key

        apart: dict[str, Any] = {
            "kind": kind, "names": [called(key) for key in keys], "count": len(keys), "of": len(posts[0][kind]),
            "ranks": [{"rank": post["rank"], **post["about"]} for post in posts],
        }  # fmt: skip
        for value, factor in zip(apart["ranks"], factors(posts) if kind == "gradients" else [], strict=False):
            value["factor"] = factor
        if (number, kind) in self._equal:
            apart["equal"] = self._equal[number, kind]
        odd = odd_one([post[kind].get(keys[0]) for post in posts])
        if odd is not None:
            apart["odd"] = posts[odd]["rank"]
        tensor = tensors.get(keys[0])
        one, other = (posts[i][kind].get(keys[0]) for i in ((odd, odd - 1) if odd else (0, 1)))
        if tensor is not None and one and other and sum(map(len, unlike.values())) == 1:
            found = single(one, other, tensor.numel())
            if found is not None:
                index = [int(i) for i in torch.unravel_index(torch.tensor(found[0]), tensor.shape)]
                apart["single"] = {
                    "name": called(keys[0]), "dtype": str(tensor.dtype).removeprefix("torch."), "index": index,
                    "of": tensor.numel(), "bits": found[1],
                }  # fmt: skip
        trip = Trip(step, "rank", "finite", watcher.keep_tape(), None, None, watcher.calm.loss, optimizer)
        trip.apart = apart
        return trip


class Hand:
    """Whether the program reduces the gradients of an optimizer itself. `known` is `None` while that is not known; `first` is the
    first difference of its parameters."""

    def __init__(self) -> None:
        self.known: bool | None = None
        self.count = 0
        self.told_apart = False  # losses differed
        self.first: Trip | None = None


class Replicated:
    """Tensors of an optimizer that ranks share, by a name that is the same on all of them."""

    def __init__(self, mode: str, ranks: list[int]) -> None:
        self.mode = mode
        self.ranks = ranks
        self.models: list[Any] = []
        self.parameters: dict[str, torch.Tensor] = {}
        self.buffers: dict[str, torch.Tensor] = {}


def replicated(optimizer: Any, parallel: Parallel) -> Replicated | None:
    """Those of `DistributedDataParallel` modules; where there is none, all that the optimizer has, which the program may
    reduce by hand. `None` where nothing can be compared."""
    held = [p for group in optimizer.param_groups for p in group["params"]]
    mine = {id(p) for p in held}
    found: Replicated | None = None
    models = parallel.models()
    for model in models:
        names = {n: p for n, p in _names(model).items() if id(p) in mine and is_whole(p)}
        ranks = sorted(torch.distributed.get_process_group_ranks(model.process_group))
        if not names or _is_local(model) or (found is not None and found.ranks != ranks):
            continue
        found = found or Replicated("module", ranks)
        prefix = f"{len(found.models)}." if found.models else ""
        found.models.append(model)
        found.parameters.update({f"{prefix}{n}": p for n, p in names.items()})
        if getattr(model, "broadcast_buffers", False):
            ignored = getattr(model, "parameters_to_ignore", ())
            # A module in training may write its own before the next broadcast, in a call that nobody sees change them.
            for path, module in model.module.named_modules():
                own = () if module.training else module.named_buffers(path, recurse=False)
                found.buffers.update({f"{prefix}{n}": b for n, b in own if n not in ignored and is_whole(b)})
    if found is not None:
        return found
    if not mine.isdisjoint(id(p) for model in models for p in model.parameters()):
        return None
    if not held or not all(map(is_whole, held)):
        return None
    found = Replicated("hand", list(range(torch.distributed.get_world_size())))
    found.parameters = {str(i): p for i, p in enumerate(held)}
    return found


def _names(model: Any) -> dict[str, torch.Tensor]:
    ignored = getattr(model, "parameters_to_ignore", ())
    return {n: p for n, p in model.module.named_parameters() if n not in ignored and p.requires_grad}


def _is_local(model: Any) -> bool:
    """Whether its hook leaves ranks to themselves for some steps on purpose."""
    hooks = getattr(model, "_comm_hooks", ())
    return any("local" in getattr(hook, "__name__", "").lower() for hook, _ in hooks)


def is_whole(tensor: Any) -> bool:
    """Whether this rank holds all of it, as far as torch says: no DTensor, no flat parameter of FSDP."""
    plain = not hasattr(tensor, "to_local") and type(tensor).__name__ != "FlatParameter"
    return plain and not tensor.is_meta and tensor.layout is torch.strided


def name(number: int, step: int, rank: int) -> str:
    """Of the file of a post."""
    return f"equal-{number}-{step}-rank-{rank}"


def differing(posts: list[Post], kind: str) -> list[str]:
    """Keys that all posts have and that are not equal on all; a gradient that is absent equals one of zeros."""
    first = posts[0][kind]
    others = [post[kind] for post in posts[1:]]
    if all(other == first for other in others):
        return []
    common = [key for key in first if all(key in other for other in others)]
    return [key for key in common if any(_bits(other[key]) != _bits(first[key]) for other in others)]


def _bits(imprint: Any) -> list[int]:
    return list(imprint) if imprint else [0, 0, 0]


def odd_one(values: list[Any]) -> int | None:
    """The position of the only value that is unlike the others, which are all alike."""
    alone = [i for i, value in enumerate(values) if values.count(value) == 1]
    return alone[0] if len(values) > 2 and len(alone) == 1 and len(set(map(str, values))) == 2 else None


def factors(posts: list[Post]) -> list[float]:
    """What the gradients of each rank are as a multiple of those of the first; nothing where they are not."""
    first = posts[0]["sample"]
    found = []
    for post in posts:
        pairs = [
            (a, b) for a, b in zip(first, post["sample"], strict=False) if a and math.isfinite(a) and math.isfinite(b)
        ]
        if len(pairs) < FACTOR_VALUES or len(first) != len(post["sample"]):
            return []
        ratios = sorted(b / a for a, b in pairs)
        middle = ratios[len(ratios) // 2]
        if middle <= 0 or ratios[-1] - ratios[0] > FACTOR_ERROR * middle:
            return []
        found.append(middle)
    return found if any(abs(x - 1) > FACTOR_ERROR for x in found) else []
