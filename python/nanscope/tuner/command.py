"""`nanscope checkpoint`: the program until one step, then what was found."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from nanscope import _core
from nanscope.outcomes import Text, text
from nanscope.stop import Stop

if TYPE_CHECKING:
    from nanscope.again.process import Ran
    from nanscope.tuner.tune import Found
    from nanscope.watcher import Watcher


def checkpoint(command: Any) -> int:
    """Runs the program until the step that is asked for and tells what checkpointing would do there. Exit status 0; 2 where
    that could not be found out."""
    from nanscope.distributed import job
    from nanscope.run import Refused, flush, load, need_torch, say, watcher_of

    start = time.monotonic()
    try:
        if job.place() is not None:
            raise Refused("the process is one of several ranks; expected a program of one process")
        program = load(command.script, command.module, command.args)
        need_torch()
        watcher = watcher_of(command)
    except Refused as refused:
        sys.stderr.write(f"nanscope checkpoint: {refused}\n")
        return 2
    from nanscope.tuner.tune import Tuning

    tuning = Tuning(command.step, command.every, command.limit)
    watcher.errand = tuning
    aside = contextlib.redirect_stdout(sys.stderr) if command.format == "json" else contextlib.nullcontext()
    how, error = "finished", None
    watcher.start()
    try:
        with aside:
            program.execute()
    except Stop:
        how = "stopped"
    except SystemExit:
        how = "exited"
    except BaseException as raised:  # noqa: BLE001 - shown as Python shows it
        how, error = "raised", raised
    flush()
    watcher.finish(how, None, error)
    try:
        found = tuning.found
        if found is None:
            if error is not None:
                program.print_traceback(error)
            problem = tuning.problem or ended(watcher, command.step)
            sys.stderr.write(f"nanscope checkpoint: {problem[watcher.run_folder.lang]}\n")
            return 2
        choose(found, watcher, command)
        found.plain["seconds"] = time.monotonic() - start
        folder = watcher.run_folder.place
        told = _core.checkpoint_write(folder, json.dumps(found.plain), watcher.run_folder.lang)
        if command.format == "json":
            say(sys.stdout, json.dumps(found.plain, indent=2) + "\n")
        else:
            say(sys.stdout, told)
            lang = watcher.run_folder.lang
            say(sys.stdout, f"  = {text('plot', '그림')[lang]}: {watcher.folder}/checkpoint.svg\n")
            if "diff" in found.plain:
                say(sys.stdout, "\n" + _core.diff_told(found.plain["diff"], _colour(command)))
        flush()
        return 0
    finally:
        if watcher.again is not None:
            watcher.again.close()


def _colour(command: Any) -> bool:
    from nanscope.run import colour

    return colour(command.color)


def ended(watcher: Watcher, step: int) -> Text:
    """The program was over too early."""
    steps = watcher.clock.completed()
    if steps == 0:
        return text("the program ended without a training step", "학습 스텝 없이 프로그램이 끝났습니다")
    return text(
        f"the program ended after {steps} steps, before step {step} was reached; --step N asks for an earlier one",
        f"스텝 {step}에 이르기 전에 {steps}개 스텝으로 프로그램이 끝났습니다; --step N 으로 더 이른 스텝을 고를 수 있습니다",
    )


def choose(found: Found, watcher: Watcher, command: Any) -> None:
    """The setting whose diff is wanted, its diff, and the proof of that, into `found.plain`."""
    from nanscope.fixes.source import Unreadable
    from nanscope.tuner import edit

    plain = found.plain
    settings = {setting["id"]: setting for setting in plain["settings"]}
    wanted = command.setting or ("best" if "best" in settings else None)
    if wanted is None:
        return
    if wanted not in settings:
        plain["no_diff"] = f"there is no setting {wanted}; expected one of {', '.join(settings)}"
        return
    setting = settings[wanted]
    plain["chosen"] = wanted
    if setting.get("as_is"):
        plain["no_diff"] = "the program is like this already"
        return
    chosen = set(setting["blocks"])
    try:
        base = watcher.run_folder.info["cwd"]
        files = edit.edited(found.blocks, found.sites.found, chosen, found.roots, base)
    except Unreadable as error:
        plain["no_diff"] = edit.told(error, found.enable, len(chosen) == len(found.blocks))
        return
    plain["diff"] = "".join(source.diff(new) for source, new in files.values())
    prove(found, watcher, edit.paths(files), command.budget)


def prove(found: Found, watcher: Watcher, sources: dict[str, str], budget: int) -> None:
    """Runs the program as the diff has it up to and with the step, and compares losses."""
    from nanscope.fixes.trials import losses_of, steps_of

    again, lang = watcher.again, watcher.run_folder.lang
    if again is None or budget <= 0:
        found.plain["proof"] = text("the diff was not run", "diff를 실행해 보지 않았습니다")[lang]
        return
    before = losses_of(steps_of(os.path.join(watcher.run_folder.place, "rank-0.log")))
    if found.loss is not None:
        before[found.step] = found.loss
    with again.ran("trial", float(budget), sources=sources, until=found.step, alarms=False) as ran:
        answer = ran.answer or {}
        losses = losses_of(steps_of(answer["log"])) if "log" in answer else {}
    same = sum(losses.get(step) == loss for step, loss in before.items())
    proved = bool(before) and same == len(before)
    found.plain["proved"] = proved
    if proved:
        said = text(
            f"proved: the program with the diff has the same losses to the bit in {same} steps",
            f"증명됨: diff를 적용한 프로그램의 손실이 {same}개 스텝에서 비트까지 같습니다",
        )
    else:
        why = unproved(ran, answer, same, len(before))
        said = text(f"not proved: {why['en']}", f"증명되지 않음: {why['ko']}")
    found.plain["proof"] = said[lang]


def unproved(ran: Ran, answer: dict[str, Any], same: int, of: int) -> Text:
    """Why a diff is not proved."""
    trip, raised = answer.get("trip"), answer.get("raised")
    if ran.status is None:
        return text("running the program with the diff took too long", "diff를 적용한 실행이 너무 오래 걸림")
    if trip is not None and trip["where"] == "recompute":
        return text(
            "with the diff, a block gives or leaves something else when it is run again; `nanscope run` says what",
            "diff를 적용하면 블록을 다시 실행할 때 결과나 상태가 달라짐; `nanscope run` 으로 확인할 수 있음",
        )
    if raised is not None:
        return text(f"with the diff, the program raised {raised}", f"diff를 적용한 프로그램에서 예외 발생: {raised}")
    return text(
        f"{same} of {of} losses are the same with the diff", f"diff를 적용했을 때 손실 {of}개 중 {same}개가 같음"
    )
