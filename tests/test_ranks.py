"""Programs of several ranks: who began it, who was given it, and that nobody waits for ever."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from nanscope.distributed.peers import Decision, Peers
from tests.launch import Result, command, explained, forked, line_of, placed, plain, watched

DDP = """
    import os, socket, sys
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.nn.parallel import DistributedDataParallel

    def main(rank, port, steps=4, bad=None, each=lambda rank, step: None):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=2)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        net = DistributedDataParallel(torch.nn.Linear(3, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(steps):
            x = torch.rand(4, 3, generator=torch.Generator().manual_seed(10 * rank + step)) + 0.1
            if (rank, step) == bad:
                x[2, 1] = -1
            each(rank, step)
            loss = net(x.log()).square().mean()  # BAD
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(rank, [p.sum().item().hex() for p in net.parameters()], flush=True)

    def port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]
"""


def program(rest: str) -> str:
    """`DDP` with `rest` after it, both at the margin."""
    import textwrap

    return textwrap.dedent(DDP) + textwrap.dedent(rest)


def started(call: str, method: str = "fork") -> str:
    """A program that starts its two ranks by torch.multiprocessing."""
    return program(f"""
        if __name__ == "__main__":
            mp.start_processes(main, (port(), {call}), 2, start_method="{method}")
    """)


def blames(ran: Result, code: str, rank: int, step: int) -> dict[str, Any]:
    """The report, which must name the line, the rank and the step, and the other rank as its victim."""
    found = ran.found
    assert ran.status == 1, ran.err
    assert (found["origin"]["line"], found["origin"]["rank"]) == (line_of(code, "# BAD"), rank), found["origin"]
    assert (found["trip"]["step"], found["trip"]["rank"], found["run"]["world_size"]) == (step, rank, 2)
    assert [(r["rank"], r["role"]) for r in found["ranks"]] == [(rank, "origin"), (1 - rank, "victim")]
    return found


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_rank_whose_own_value_was_bad_is_named(tmp_path: Path, method: str) -> None:
    code = started("4, (1, 2)", method)
    ran = watched(tmp_path, code)
    found = blames(ran, code, rank=1, step=2)
    assert found["causes"][0]["id"] == "negative-argument"
    assert found["replay"]["faithful"]
    assert "Traceback" not in ran.err
    again = explained(tmp_path)
    assert {**again, "run": None} == {**found, "run": None}


def test_healthy_ranks_compute_what_they_compute_without_a_watch(tmp_path: Path) -> None:
    code = started("4")
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    ran, alone = watched(tmp_path / "a", code), plain(tmp_path / "b", code)
    assert (ran.status, sorted(ran.out.splitlines())) == (0, sorted(alone.out.splitlines())), ran.err
    assert ran.found["verdict"] == "finite"
    assert (ran.found["run"]["world_size"], ran.found["run"]["steps"]) == (2, 4)
    assert ran.err == "nanscope: 4 steps, nothing found; run folder run\n"


def test_processes_of_the_program_own_class_and_that_never_train(tmp_path: Path) -> None:
    code = program("""
        class Rank(mp.Process):
            def __init__(self, rank, port):
                super().__init__()
                self.rank, self.port = rank, port
            def run(self):
                main(self.rank, self.port, 4, (0, 1))
        def nothing():
            print("nothing", torch.ones(3).sum().item(), flush=True)
        if __name__ == "__main__":
            mp.set_start_method("fork")
            other = mp.Process(target=nothing)
            other.start()
            other.join()
            at = port()
            ranks = [Rank(rank, at) for rank in range(2)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join()
    """)
    ran = watched(tmp_path, code)
    blames(ran, code, rank=0, step=1)
    assert "nothing 3.0" in ran.out
    assert sorted(p.name for p in (tmp_path / "run").glob("ranks*/rank-*.log")) == ["rank-0.log", "rank-1.log"]


def test_a_rank_that_is_killed_leaves_a_readable_report(tmp_path: Path) -> None:
    code = program("""
        import signal
        def each(rank, step):
            if (rank, step) == (1, 2):
                os.kill(os.getpid(), signal.SIGKILL)
        if __name__ == "__main__":
            mp.start_processes(main, (port(), 5, None, each), 2, start_method="fork")
    """)
    ran = watched(tmp_path, code)
    assert ran.status == 1
    assert "terminated with signal SIGKILL" in ran.err  # the program's own exception
    found = ran.found
    assert found["verdict"] == "finite"
    assert any("cut short" in warning for warning in found["warnings"]), found["warnings"]
    assert explained(tmp_path)["verdict"] == "finite"


def test_a_rank_that_waits_for_one_that_has_stopped_is_ended(tmp_path: Path) -> None:
    """Rank 0 never comes to the collective: it sleeps, and nothing that happens to rank 1 would wake it."""
    code = program("""
        import time
        def each(rank, step):
            if (rank, step) == (0, 2):
                time.sleep(600)
        def lone(rank, port):
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            dist.init_process_group("gloo", rank=rank, world_size=2)
            torch.set_num_threads(1)
            net = torch.nn.Linear(3, 2)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(4):
                each(rank, step)
                x = torch.full((4, 3), -1.0 if step == 2 else 1.0)
                net(x.log()).sum().backward()  # LONE
                opt.step()
        if __name__ == "__main__":
            at = port()
            ranks = [mp.get_context("fork").Process(target=lone, args=(rank, at)) for rank in range(2)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join()
            print([rank.exitcode for rank in ranks])
    """)

    def action() -> int:
        from nanscope.distributed import children, peers

        children.GRACE_SECONDS, peers.MEET_SECONDS = 0.5, 0.2
        return command("run", "--out", "run", placed(Path(), code))

    ran = forked(tmp_path, action)
    assert ran.out.startswith(f"[{-signal.SIGTERM}, 1]"), ran.out + ran.err
    assert ran.status == 1
    assert (ran.found["origin"]["rank"], ran.found["trip"]["step"]) == (1, 2)
    assert ran.found["origin"]["line"] == line_of(code, "# LONE")


def started_by_another(folder: Path, program: str, *options: str) -> Result:
    """Two ranks with what torchrun puts into their environment."""
    path = placed(folder, program)

    def action() -> int:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            os.environ.update(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
        pids = []
        for rank in range(2):
            pids.append(os.fork())
            if pids[-1] == 0:
                os.environ["RANK"] = str(rank)
                status = 70
                try:
                    status = command("run", "--out", "run", *options, path)
                finally:
                    os._exit(status)
        return sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)

    return forked(folder, action)


def test_ranks_of_a_launcher_write_one_report(tmp_path: Path) -> None:
    import textwrap

    code = textwrap.dedent(DDP) + "main(int(os.environ['RANK']), os.environ['MASTER_PORT'], 4, (1, 2))\n"
    ran = started_by_another(tmp_path, code)
    assert ran.status == 2, ran.err  # 1 from each rank
    assert ran.out.count("error[negative-argument]") == 1
    assert blames(Result(ran.folder, 1, ran.out, ran.err), code, rank=1, step=2)


def test_launched_ranks(tmp_path: Path) -> None:
    import textwrap

    code = textwrap.dedent(DDP) + "main(int(os.environ['RANK']), os.environ['MASTER_PORT'], 3, (0, 1))\n"
    ran = watched(tmp_path, code, options=("--nproc-per-node", "2"))
    blames(ran, code, rank=0, step=1)
    assert "Traceback" not in ran.err


def test_collectives_at_top_level_are_events(tmp_path: Path) -> None:
    """Gradients averaged by hand: what is bad on rank 0 came from rank 1, whose forward is to blame."""
    code = program("""
        def by_hand(rank, port):
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            dist.init_process_group("gloo", rank=rank, world_size=2)
            torch.set_num_threads(1)
            torch.manual_seed(0)
            net = torch.nn.Linear(3, 2)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(3):
                x = torch.full((4, 3), -1.0 if (rank, step) == (1, 1) else 2.0)
                loss = net(x.sqrt()).square().mean()  # ROOT
                opt.zero_grad()
                loss.backward()
                for p in net.parameters():
                    dist.all_reduce(p.grad)
                    p.grad /= 2
                opt.step()
        if __name__ == "__main__":
            mp.start_processes(by_hand, (port(),), 2, start_method="fork")
    """)
    ran = watched(tmp_path, code)
    assert ran.status == 1, ran.err
    found = ran.found
    assert (found["origin"]["line"], found["origin"]["rank"], found["origin"]["op"]) == (
        line_of(code, "# ROOT"), 1, "aten.sqrt.default",
    )  # fmt: skip
    assert [r["role"] for r in found["ranks"]] == ["origin", "victim"]
    assert found["replay"]["faithful"]


def test_tensors_are_swapped_under_watch(tmp_path: Path) -> None:
    """torch refuses to swap a tensor that has weak references."""
    code = """
        import torch
        torch.__future__.set_swap_module_params_on_conversion(True)
        with torch.device("meta"):
            net = torch.nn.Linear(3, 2)
        net.to_empty(device="cpu")
        net.reset_parameters()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            net(torch.ones(4, 3)).sum().backward()
            opt.step()
    """
    ran = watched(tmp_path, code)
    assert (ran.status, ran.found["verdict"], ran.found["run"]["steps"]) == (0, "finite", 2), ran.err


def test_ranks_leave_the_same_updates_out(tmp_path: Path) -> None:
    """A bad gradient reaches all ranks, and all leave its update out; a bad buffer is of one rank, which leaves nothing out."""
    code = program("""
        def each_his_own(rank, port):
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
            dist.init_process_group("gloo", rank=rank, world_size=2)
            torch.set_num_threads(1)
            torch.manual_seed(0)
            inner = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
            net = DistributedDataParallel(inner, broadcast_buffers=False)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(12):
                x = torch.rand(4, 3, generator=torch.Generator().manual_seed(10 * rank + step)) + 0.1
                if rank == 1 and step in (2, 7):
                    x[2, 1] = -1
                if (rank, step) == (1, 4):
                    inner[1].running_mean[0] = float("nan")
                loss = net(x.log()).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            print([p.sum().item().hex() for p in net.parameters()], flush=True)
        if __name__ == "__main__":
            mp.start_processes(each_his_own, (port(),), 2, start_method="fork")
    """)
    ran = watched(tmp_path, code, options=("--on-trip", "skip"))
    first, second = ran.out.splitlines()[:2]
    assert first == second and "nan" not in first, ran.out + ran.err
    assert ran.found["origin"]["rank"] == 1


# ---- meeting


def test_ranks_that_trip_in_the_same_step_agree(tmp_path: Path) -> None:
    found = meeting(tmp_path, {0: ["module", "backward"], 1: ["module", "backward"]})
    assert found == {0: Decision(True, True), 1: Decision(True, True)}


def test_ranks_that_would_run_different_calls_do_not_go_together(tmp_path: Path) -> None:
    assert meeting(tmp_path, {0: ["module"], 1: ["module", "backward"]}) == {
        0: Decision(False, True), 1: Decision(False, True),
    }  # fmt: skip


def test_a_rank_that_comes_too_late_obeys_what_was_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanscope.distributed.peers.MEET_SECONDS", 0.05)
    first, second = Peers(str(tmp_path), 0, 2), Peers(str(tmp_path), 1, 2)
    assert first.meet(3, ["module"], 0.0) == Decision(False, False)
    assert second.meet(3, ["module"], 0.0) == Decision(False, False)
    assert (first.others_tripped(), second.others_tripped()) == ([1], [0])


def test_leaving_does_not_wait_for_a_dead_rank(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        Peers(str(tmp_path), 1, 2).announce(0)
        os._exit(0)
    os.waitpid(pid, 0)
    here = Peers(str(tmp_path), 0, 2)
    here.announce(0)
    start = time.monotonic()
    here.leave()
    assert time.monotonic() - start < 5.0


def meeting(folder: Path, calls: dict[int, list[str]]) -> dict[int, Decision]:
    """What each rank is told, two of them meeting at step 5."""
    from concurrent.futures import ThreadPoolExecutor

    def meet(rank: int) -> Decision:
        return Peers(str(folder), rank, len(calls)).meet(5, calls[rank], 0.0)

    with ThreadPoolExecutor(len(calls)) as pool:
        return dict(zip(calls, pool.map(meet, calls), strict=True))


def test_process_groups_are_as_they_were_once_the_watch_ends(tmp_path: Path) -> None:
    def action() -> int:
        import torch
        import torch.distributed as dist

        import nanscope

        group = torch._C._distributed_c10d.ProcessGroup
        before = dict(vars(group)), dist.init_process_group, torch.utils.swap_tensors
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
        with nanscope.watch(out="run", quiet=True):
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            dist.all_reduce(torch.ones(2))
        assert (dict(vars(group)), dist.init_process_group, torch.utils.swap_tensors) == before
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        print(tensor.tolist())
        dist.destroy_process_group()
        return 0

    ran = forked(tmp_path, action)
    assert (ran.status, ran.out) == (0, "[1.0, 1.0]\n"), ran.err
