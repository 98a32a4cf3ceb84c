"""Ranks that must hold the same values: each way to come apart is told with its rank, step, line and reason, and programs that
are meant to differ are left alone."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from nanscope.capture.collectives import PRUNED_EVERY, Pending
from nanscope.capture.recorder import storage_id
from nanscope.distributed.child import free
from nanscope.distributed.peers import Peers
from tests.launch import explained, line_of, watched

HEAD = """
    import contextlib, os, socket, sys
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    def joined(rank, port, world=2):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=world)
        torch.set_num_threads(1)
        torch.manual_seed(0)

    def net():
        return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))

    def data(rank, step):
        g = torch.Generator().manual_seed(100 * rank + step)
        return torch.randn(8, 6, generator=g), torch.randint(0, 3, (8,), generator=g)

    def loss_of(model, rank, step):
        x, y = data(rank, step)
        return nn.functional.cross_entropy(model(x), y)

    def port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def start(main, world=2):
        mp.start_processes(main, (port(),), world, start_method="fork")
"""

# A loop over a DDP model, into which each fault puts its own lines.
LOOP = """
    def main(rank, port):
        joined(rank, port, WORLD)
        model = DistributedDataParallel(net())
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        {made}
        for step in range({steps}):
            opt.zero_grad()
            {forward}
            {after}
            {update}

    if __name__ == "__main__":
        start(main, WORLD)
"""
FORWARD = "loss_of(model, rank, step).backward()"
UPDATE = "opt.step()  # UPDATE"


@dataclass(frozen=True)
class Fault:
    """One planted fault: what stands in the loop, and what must be said of it. `line` is a mark in the program."""

    says: str
    step: int
    rank: int | None = None
    made: str = "pass"
    forward: str = FORWARD
    after: str = "pass"
    update: str = UPDATE
    line: str | None = None
    cause: str = "rank-divergence"
    kind: str | None = None
    steps: int = 8
    world: int = 2
    options: tuple[str, ...] = ()
    names: str | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def program(self) -> str:
        parts = {"made": self.made, "forward": self.forward, "after": self.after, "update": self.update}
        indented = {
            key: textwrap.dedent(text).strip("\n").replace("\n", "\n" + (" " * (8 if key == "made" else 12)))
            for key, text in parts.items()
        }
        code = textwrap.dedent(HEAD) + textwrap.dedent(LOOP.format(steps=self.steps, **indented))
        return code.replace("WORLD", str(self.world))


FAULTS = {
    "no_sync in the last micro-batch": Fault(
        "no_sync",
        step=0,
        forward="""
        loss_of(model, rank, 2 * step).backward()
        with model.no_sync():
            loss_of(model, rank, 2 * step + 1).backward()""",
        line="return nn.functional.cross_entropy",
    ),
    "no_sync in the wrong step": Fault(
        "no_sync",
        step=3,
        forward="""
        with model.no_sync() if step == 3 else contextlib.nullcontext():
            loss_of(model, rank, step).backward()""",
        line="return nn.functional.cross_entropy",
    ),
    "the module inside is called": Fault(
        "DistributedDataParallel",
        step=2,
        forward="loss_of(model.module if step >= 2 else model, rank, step).backward()",
        line="return nn.functional.cross_entropy",
    ),
    "the module inside is called late": Fault(
        "not reduced",
        step=21,
        steps=36,
        forward="loss_of(model.module if step == 21 else model, rank, step).backward()",
    ),
    "a local norm": Fault(
        "one factor",
        step=2,
        after="""
        if step >= 2:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01 * (rank + 1))  # CLIP""",
        line="# CLIP",
    ),
    "a local factor": Fault(
        "one factor",
        step=1,
        after="""
        if step >= 1:
            for p in model.parameters():
                p.grad.mul_(loss_of(model.module, rank, step).item())  # SCALE""",
        line="# SCALE",
    ),
    "an update left out": Fault(
        "left this update out",
        step=5,
        rank=1,
        steps=20,
        update="""
        if (rank, step) != (1, 5):
            opt.step()  # UPDATE""",
        line="# UPDATE",
    ),
    "another learning rate": Fault(
        "learning rates differ",
        step=2,
        after="opt.param_groups[0]['lr'] = 0.05 if step < 2 else 0.05 / (rank + 1)",
        line="# UPDATE",
    ),
    "another weight decay": Fault(
        "other settings",
        step=1,
        made="opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01 * rank)",
        line="# UPDATE",
    ),
    "other values to begin with": Fault(
        "never equal",
        step=0,
        made="""
        torch.manual_seed(rank)
        nn.init.normal_(model.module[2].weight)""",
        names="2.weight",
    ),
    "written on one rank": Fault(
        "written parameters",
        step=3,
        rank=1,
        update="""
        opt.step()
        if (rank, step) == (1, 2):
            with torch.no_grad():
                model.module[0].bias.add_(0.5)""",
        names="0.bias",
    ),
    "a part that is never reduced": Fault(
        "not reduced",
        step=0,
        made="""
        model.module.head = nn.Linear(3, 3)
        opt.add_param_group({"params": list(model.module.head.parameters())})""",
        forward="""
        x, y = data(rank, step)
        nn.functional.cross_entropy(model.module.head(model(x)), y).backward()  # BACKWARD""",
        line="# BACKWARD",
        names="head.weight",
    ),
    "a bit of a weight": Fault(
        "bit 30, one of its exponent",
        step=4,
        cause="memory-corruption",
        update="""
        opt.step()
        if (rank, step) == (1, 3):
            model.module[2].weight.detach().numpy().view("int32")[1, 7] ^= 1 << 30""",
        names="2.weight",
        options=("--check", "ranks=4"),
    ),
    "a bit of a reduced gradient": Fault(
        "bit 20, one of its mantissa",
        step=2,
        rank=2,
        cause="memory-corruption",
        world=4,
        after="""
        if (rank, step) == (2, 2):
            model.module[0].weight.grad.numpy().view("int32")[3, 1] ^= 1 << 20""",
        names="0.weight",
    ),
    "by hand: a gradient forgotten": Fault(
        "not reduced",
        step=5,
        steps=12,
        made="""
        model = net()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        after="""
        for p in model.parameters():
            if step != 5 or p is not model[0].bias:
                dist.all_reduce(p.grad)
                p.grad /= 2""",
        names="0.bias",
        options=("--check", "ranks=1"),
    ),
    "by hand: other seeds": Fault(
        "another seed",
        step=0,
        made="""
        torch.manual_seed(rank)
        model = net()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        after="""
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2""",
        names="0.weight",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_told(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    ran = watched(tmp_path, fault.program, options=fault.options)
    assert ran.status == 1, (ran.out, ran.err)
    found = ran.found
    cause, origin = found["causes"][0], found["origin"]
    assert (cause["id"], found["verdict"]) == (fault.cause, "mismatch"), cause
    assert fault.says in " ".join(cause["evidence"]), cause["evidence"]
    assert found["trip"]["step"] == fault.step, (found["trip"], cause["evidence"])
    assert found["run"]["world_size"] == fault.world
    if fault.rank is not None:
        assert found["trip"]["rank"] == fault.rank
    if fault.line is not None:
        assert origin["line"] == line_of(fault.program, fault.line), origin
    if fault.names is not None:
        assert origin["tensor"] == fault.names
    again = explained(tmp_path)
    assert {**again, "run": None} == {**found, "run": None}


def test_a_rank_with_fewer_batches(tmp_path: Path) -> None:
    """Nobody came apart: one rank is done, and the other waits for it."""
    fault = Fault("number of batches", step=3, steps=0)
    code = fault.program.replace("range(0)", "range(3 + 2 * rank)")
    ran = watched(tmp_path, code)
    assert ran.status == 1
    found = ran.found
    assert (found["causes"][0]["id"], found["trip"]["step"], found["trip"]["rank"]) == ("rank-divergence", 3, 1), found
    assert "came to its end after 3 steps" in found["causes"][0]["evidence"][0]


HEALTHY = {
    "accumulation": (
        "pass",
        """
        with model.no_sync():
            loss_of(model, rank, 2 * step).backward()
        loss_of(model, rank, 2 * step + 1).backward()""",
    ),
    "clipping by the norm of reduced gradients": (
        "pass",
        """
        loss_of(model, rank, step).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)""",
    ),
    "a mean of rank 0 only": (
        """
        import copy
        average = copy.deepcopy(model.module)""",
        """
        loss_of(model, rank, step).backward()
        if rank == 0:
            with torch.no_grad():
                for a, p in zip(average.parameters(), model.parameters()):
                    a.lerp_(p, 0.1)""",
    ),
    "batch norm, its buffers broadcast": (
        """
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)))
        opt = torch.optim.AdamW(model.parameters())""",
        FORWARD,
    ),
    "batch norm, its buffers local": (
        """
        inner = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3))
        model = DistributedDataParallel(inner, broadcast_buffers=False)
        opt = torch.optim.AdamW(model.parameters())""",
        FORWARD,
    ),
    # torch's own SyncBatchNorm refuses tensors on the CPU.
    "batch norm over all ranks": (
        """
        from torch.distributed.nn.functional import all_reduce
        class Synchronised(nn.BatchNorm1d):
            def forward(self, x):
                mean = all_reduce(x.mean(0)) / 2
                var = all_reduce((x - mean).square().mean(0)) / 2
                with torch.no_grad():
                    self.running_mean.lerp_(mean, 0.1)
                    self.running_var.lerp_(var, 0.1)
                return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), Synchronised(16), nn.Linear(16, 3)))
        opt = torch.optim.AdamW(model.parameters())""",
        FORWARD,
    ),
    "steps of its own for every rank, then a mean": (
        "pass",
        """
        with model.no_sync():
            loss_of(model, rank, step).backward()
        if step % 3 == 2:
            for p in model.parameters():
                dist.all_reduce(p.data)
                p.data /= 2""",
    ),
    "two models that have nothing to do with each other": (
        """
        torch.manual_seed(rank)
        model = net()
        opt = torch.optim.Adam(model.parameters())""",
        FORWARD,
    ),
    "the same model, rank by rank": (
        """
        model = net()
        opt = torch.optim.Adam(model.parameters())""",
        "loss_of(model, 0, step if step < 5 else step + rank).backward()",
    ),
    "by hand for some steps, then local": (
        """
        model = net()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        """
        loss_of(model, rank, step).backward()
        for p in model.parameters() if step < 8 else ():
            dist.all_reduce(p.grad)
            p.grad /= 2""",
    ),
    "by hand, then local": (
        """
        model = net()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        """
        loss_of(model, rank, step).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2""",
    ),
    "parts that are found unused": (
        """
        model = DistributedDataParallel(nn.ModuleList([net(), net()]), find_unused_parameters=True)
        model.module.forward = lambda x: model.module[(step + rank) % 2](x)
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        FORWARD,
    ),
    "uneven inputs under join": (
        "pass",
        """
        if step:
            break
        with model.join():
            for inner in range(5 + 3 * rank):
                opt.zero_grad()
                loss_of(model, rank, inner).backward()
                opt.step()""",
    ),
    "two epochs under join": (
        "pass",
        """
        if step > 1:
            break
        with model.join():
            for inner in range(5 + 3 * rank):
                opt.zero_grad()
                loss_of(model, rank, inner).backward()
                opt.step()""",
    ),
    "a GradScaler that skips": (
        "scaler = torch.amp.GradScaler('cpu', init_scale=2.0**127)",
        """
        with torch.autocast("cpu", dtype=torch.float16):
            loss = loss_of(model, rank, step)
        scaler.scale(loss.float() * 4).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()""",
    ),
    "sparse gradients": (
        """
        inner = nn.Sequential(nn.Embedding(10, 6, sparse=True), nn.Flatten(), nn.Linear(48, 3))
        model = DistributedDataParallel(inner)
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        loss_of = lambda model, rank, step: model(torch.arange(8).reshape(1, 8) + rank).sum()""",
        FORWARD,
    ),
    "one rank that goes on alone": (
        "pass",
        """
        if step == 6:
            dist.destroy_process_group()
            model = model.module
            if rank:
                break
        loss_of(model, rank, step).backward()""",
    ),
    "two optimizers of one model with batch norm": (
        """
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)))
        opt = torch.optim.SGD(model.module[2].parameters(), lr=0.05)
        other = torch.optim.SGD(model.module[:2].parameters(), lr=0.05)""",
        """
        other.zero_grad()
        loss_of(model, rank, step).backward()
        other.step()""",
    ),
    "an evaluation before training": (
        """
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)))
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        model.eval()
        with torch.no_grad():
            for step in range(4):
                loss_of(model, rank, step)
        model.train()""",
        FORWARD,
    ),
    "a buffer that is made anew": (
        """
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(6))
            def forward(self, x):
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
                return x - self.mean
        model = DistributedDataParallel(nn.Sequential(Mean(), nn.Linear(6, 3)))
        opt = torch.optim.SGD(model.parameters(), lr=0.05)""",
        FORWARD,
    ),
    "a sharded optimizer": (
        """
        from torch.distributed.optim import ZeroRedundancyOptimizer
        opt = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)""",
        FORWARD,
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_may_differ_is_left_alone(name: str, tmp_path: Path) -> None:
    made, forward = HEALTHY[name]
    program = Fault("", 0, made=made, forward=forward, steps=12, update="opt.step()").program
    ran = watched(tmp_path, program, options=("--check", "ranks=1"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), (ran.out, ran.err)
    assert not list((tmp_path / "run").rglob("step-*")), "nobody has tripped"


def test_fully_sharded_parameters_are_left_alone(tmp_path: Path) -> None:
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        pytest.skip("this version of torch has no fully_shard")
    made = """
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        model = net()
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
        opt = torch.optim.AdamW(model.parameters())"""
    ran = watched(tmp_path, Fault("", 0, made=made, steps=6).program, options=("--check", "ranks=1"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), (ran.out, ran.err)


def test_nothing_is_compared_where_that_is_not_wanted(tmp_path: Path) -> None:
    ran = watched(tmp_path, FAULTS["another learning rate"].program, options=("--check", "none"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), (ran.out, ran.err)
    assert not (tmp_path / "run" / "ranks" / "meeting").exists()


def test_a_difference_in_the_last_step_of_a_group(tmp_path: Path) -> None:
    """The group is gone when the last posts are compared."""
    fault = Fault(
        "", 0, steps=4, made="globals().update(kept=opt)", after="if step == 3: model.module[0].bias.grad.add_(rank)",
        update="""
        opt.step()
        if step == 3:
            dist.barrier()
            dist.destroy_process_group()""",
    )  # fmt: skip
    ran = watched(tmp_path, fault.program)
    assert ran.status == 1, (ran.out, ran.err)
    found = ran.found
    assert (found["causes"][0]["id"], found["trip"]["step"]) == ("rank-divergence", 3), found
    assert found["origin"]["tensor"] == "0.bias"


@pytest.mark.parametrize("text", ["", '{"rank": 1, "st', "[1]"])
def test_a_post_that_is_not_whole_is_none(text: str, tmp_path: Path) -> None:
    peers = Peers(str(tmp_path), 0, 2)
    assert peers.post("equal-0-0-rank-0", {"rank": 0})
    (tmp_path / "meeting" / "equal-0-0-rank-1").write_text(text)
    assert peers.posted("equal-0-0-rank-1") == {}


def test_a_post_that_fails_leaves_nothing(tmp_path: Path) -> None:
    peers = Peers(str(tmp_path), 0, 2)
    (tmp_path / "meeting" / "taken").mkdir(parents=True)
    assert not peers.post("taken", {"rank": 0})
    assert [path.name for path in (tmp_path / "meeting").iterdir()] == ["taken"]


def test_posts_need_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refused)
    peers = Peers(str(tmp_path), 0, 2)
    assert peers.post("equal-0-0-rank-0", {"rank": 0})
    assert peers.posted("equal-0-0-rank-0") == {"rank": 0}


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    made = """
        from nanscope.distributed.peers import Peers
        Peers._post = lambda *_: False"""
    ran = watched(tmp_path, Fault("", 0, made=made).program)
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), (ran.out, ran.err)
    assert ran.err.count("ranks are not compared any more") == 2, ran.err


def test_an_error_of_the_program_is_shown_after_a_trip_of_another_rank(tmp_path: Path) -> None:
    code = """
    def main(rank, port):
        joined(rank, port)
        model = net()
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(4):
            loss = loss_of(model, rank, step) * (float("nan") if (rank, step) == (1, 1) else 1)
            loss.backward()
            opt.step()
        dist.barrier()
        if rank == 0:
            open("a file that is not there")
        dist.barrier()

    if __name__ == "__main__":
        start(main)
    """
    ran = watched(tmp_path, textwrap.dedent(HEAD) + textwrap.dedent(code), options=("--on-trip", "continue"))
    assert ran.status == 1
    assert "FileNotFoundError" in ran.err and "a file that is not there" in ran.err, ran.err


def test_processes_that_live_on_between_two_trainings(tmp_path: Path) -> None:
    code = """
    def main(rank, port):
        joined(rank, port)
        model = DistributedDataParallel(net())
        opt = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(2):
            loss_of(model, rank, step).backward()
            opt.step()

    if __name__ == "__main__":
        manager = mp.Manager()
        start(main)
        start(main)
        assert manager.list([1])[0] == 1
        manager.shutdown()
    """
    ran = watched(tmp_path, textwrap.dedent(HEAD) + textwrap.dedent(code))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), (ran.out, ran.err)
    logs = sorted(str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("rank-[01].log"))
    assert [log for log in logs if "/" in log] == [f"{f}/rank-{r}.log" for f in ("ranks-2", "ranks") for r in (0, 1)]


def test_a_process_that_takes_the_place_of_another(tmp_path: Path) -> None:
    ranks = tmp_path / "ranks"
    assert free(str(ranks), 0) == str(ranks)
    for folder in (ranks, tmp_path / "ranks-2"):
        folder.mkdir()
        (folder / "rank-0.log").touch()
    assert free(str(ranks), 0) == str(tmp_path / "ranks-3")
    assert free(str(tmp_path / "ranks-2"), 1) == str(tmp_path / "ranks-2")


@pytest.mark.parametrize("place", [".", "ranks"])
def test_the_folder_of_another_run_is_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "run" / place).mkdir(parents=True)
    (tmp_path / "run" / place / "rank-0.log").touch()
    ran = watched(tmp_path, "import torch", options=("--nproc-per-node", "2"))
    assert ran.status == 2
    assert "run holds the logs of another run" in ran.err


class Work:
    """As gloo is for a moment: those that wait for the future are told already."""

    def __init__(self, done: bool) -> None:
        self.done = done

    def is_completed(self) -> bool:
        return False

    def get_future(self) -> Any:
        future: Any = torch.futures.Future()
        if self.done:
            future.set_result(None)
        return future


def test_collectives_keep_no_tensor_and_are_let_go_of() -> None:
    pending, kept = Pending(), torch.zeros(3)
    pending.note("allreduce", Work(done=True), [kept])
    assert pending.unfinished() == []
    pending.note("allreduce", Work(done=False), [kept])
    pending.note("allreduce", Work(done=False), [torch.zeros(3)])
    pending.note("allreduce", Work(done=False), [torch.zeros(3, device="meta")])
    assert [started.storages for started in pending.unfinished()] == [[storage_id(kept)]]
    for _ in range(3 * PRUNED_EVERY):
        pending.note("allreduce", Work(done=True), [kept])
    assert len(pending.works) <= PRUNED_EVERY + 1


def test_a_program_that_goes_on_is_told_once(tmp_path: Path) -> None:
    ran = watched(tmp_path, FAULTS["another learning rate"].program, options=("--on-trip", "skip"))
    assert (ran.status, ran.found["run"]["steps"]) == (1, 8), (ran.out, ran.err)
    assert ran.found["causes"][0]["id"] == "rank-divergence"


def test_a_bit_that_flips_in_one_process(tmp_path: Path) -> None:
    """The gradient is as it should be when the step is run again, but for one element."""
    code = """
        import torch
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(8, 16))
        opt = torch.optim.SGD([weight], lr=0.1)
        for step in range(4):
            opt.zero_grad()
            (weight * torch.full((8, 16), 1.5)).sum().backward()
            if step == 2:
                weight.grad.numpy().view("int32")[5, 3] ^= 1 << 30
            opt.step()
    """
    ran = watched(tmp_path, code)
    assert ran.status == 1, ran.err
    cause, origin = ran.found["causes"][0], ran.found["origin"]
    assert (cause["id"], cause["confidence"], ran.found["trip"]["step"]) == ("memory-corruption", "proved", 2), (
        ran.found
    )
    assert "[5, 3], in bit 30, one of its exponent: nan instead of 1.5" in cause["evidence"][0]
    assert (origin["first_index"], origin["tensor"]) == ([5, 3], "weight")
    again = explained(tmp_path)
    assert {**again, "run": None} == {**ran.found, "run": None}
