"""Fixes of programs of several ranks: the whole job is run again with each, and nothing of it stays behind."""

from __future__ import annotations

import socket
import textwrap
import time
from pathlib import Path

import pytest

from tests.launch import Result, command, forked, nanscope, placed, watched
from tests.test_ranks import DDP, program, started, started_by_another

LAUNCHED = textwrap.dedent(DDP) + "main(int(os.environ['RANK']), os.environ['MASTER_PORT'], 4, (1, 2))\n"


def proved(ran: Result) -> None:
    """The first fix of a job whose rank 1 takes the logarithm of a negative number in step 2."""
    fix = ran.found["fixes"][0]
    assert (fix["id"], fix["safety"]) == ("floor-argument", "safe"), ran.found
    proof = fix["proof"]
    assert (proof["proved"], proof["steps"], proof["healthy_losses"], proof["compared"]) == (True, 4, "identical", 2)
    assert "+        loss = net(x.clamp(min=" in fix["diff"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ranks_that_the_program_starts_run_the_edited_program(tmp_path: Path, method: str) -> None:
    code = started("4, (1, 2)", method)
    ran = watched(tmp_path, code, budget=60)
    proved(ran)
    again = nanscope(tmp_path, "fix", "run", "1", "--prove")
    assert again.status == 0 and "2 of 2 healthy losses the same" in again.out, again
    assert (tmp_path / "program.py").read_text() == code.lstrip("\n")
    assert nanscope(tmp_path, "fix", "run", "1", "--write").status == 0
    assert "clamp" in (tmp_path / "program.py").read_text()


def test_ranks_that_nanscope_launches_run_the_edited_program(tmp_path: Path) -> None:
    ran = watched(tmp_path, LAUNCHED, options=("--nproc-per-node", "2"), budget=60)
    assert ran.status == 1, ran.err
    proved(ran)
    again = nanscope(tmp_path, "fix", "run", "1", "--prove")
    assert again.status == 0 and "2 of 2 healthy losses the same" in again.out, again


def test_a_job_of_another_launcher_is_offered_fixes_that_can_be_proved_later(tmp_path: Path) -> None:
    ran = started_by_another(tmp_path, LAUNCHED)
    fix = ran.found["fixes"][0]
    assert "clamp" in fix["diff"] and "proof" not in fix
    assert "not proved" in fix["note"] and "nanscope fix run N --prove" in fix["note"]
    assert "not proved: a launcher has started this job" in ran.out
    again = nanscope(tmp_path, "fix", "run", "1", "--prove")
    assert again.status == 0 and "2 of 2 healthy losses the same" in again.out, again


def test_a_trial_that_hangs_is_ended_with_all_its_ranks(tmp_path: Path) -> None:
    code = program("""
        import time
        FIRST = not os.path.exists("ran")
        def each(rank, step):
            open(f"pid-{os.getpid()}", "w").close()
            if not FIRST and (rank, step) == (0, 2):
                time.sleep(600)
        if __name__ == "__main__":
            open("ran", "w").close()
            mp.start_processes(main, (port(), 4, (1, 2), each), 2, start_method="fork")
    """)
    path = placed(tmp_path, code)

    def action() -> int:
        from nanscope.fixes import search

        search.START_SECONDS, search.RANK_SECONDS, search.SLACK = 8.0, 0.0, 0.0
        return command("run", "--out", "run", "--budget", "15", path)

    begun = time.monotonic()
    ran = forked(tmp_path, action)
    assert time.monotonic() - begun < 60
    assert any("no fix is proved" in warning for warning in ran.found["warnings"]), ran.found["warnings"]
    assert len(pids(tmp_path)) >= 4 and not [pid for pid in pids(tmp_path) if alive(pid)]


def pids(folder: Path) -> list[int]:
    """Processes that a program has told of."""
    found = [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]
    assert found
    return found


def alive(pid: int) -> bool:
    """Whether a process is there, and is no zombie."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_trial_has_a_port_of_its_own(tmp_path: Path) -> None:
    """The port of the first run is taken when trials begin."""
    code = program("""
        if __name__ == "__main__":
            with open("ports", "a") as file:
                file.write(os.environ["MASTER_PORT"] + "\\n")
            mp.start_processes(main, (os.environ["MASTER_PORT"], 4, (1, 2)), 2, start_method="fork")
    """)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        first = str(s.getsockname()[1])
    ran = watched(tmp_path, code, budget=60, environment={"MASTER_PORT": first})
    proved(ran)
    ports = (tmp_path / "ports").read_text().split()
    assert ports[0] == first and len(ports) > 1 and first not in ports[1:]


def test_where_no_edit_applies_that_is_said(tmp_path: Path) -> None:
    """Ranks that begin with other weights, and reduce gradients by hand."""
    code = program("""
        def by_hand(rank, port):
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            dist.init_process_group("gloo", rank=rank, world_size=2)
            torch.set_num_threads(1)
            torch.manual_seed(rank)
            net = torch.nn.Linear(3, 2)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(8):
                loss = net(torch.rand(4, 3)).square().mean()
                opt.zero_grad()
                loss.backward()
                for p in net.parameters():
                    dist.all_reduce(p.grad)
                opt.step()
        if __name__ == "__main__":
            mp.start_processes(by_hand, (port(),), 2, start_method="fork")
    """)
    ran = watched(tmp_path, code, budget=60)
    assert ran.found["verdict"] == "mismatch", ran.err
    assert any("no fix was tried" in warning for warning in ran.found["warnings"]), ran.found
    assert not [fix for fix in ran.found["fixes"] if "diff" in fix]


# ---- edits


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("work = dist.all_reduce(x, async_op=True)\n", "work = dist.all_reduce(x, async_op=True)\nwork.wait()\n"),
        ("dist.all_reduce(x, async_op=True)\n", "dist.all_reduce(x, async_op=True).wait()\n"),
        (
            "y /= 2; works.append(dist.all_reduce(x, async_op=True))\n",
            "y /= 2; works.append((_work := dist.all_reduce(x, async_op=True))); _work.wait()\n",
        ),
    ],
)
def test_a_handle_is_waited_for_where_it_is_made(text: str, result: str) -> None:
    import ast

    from nanscope.fixes.families.ranks import waited
    from nanscope.fixes.source import Source

    source = Source("/x/a.py", "a.py", text.encode())
    call = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and n.keywords)
    assert source.edited(waited(source, source.tree.body[-1], call)) == result
