"""Ctrl-C: a command ends with exit code 130 and one sentence: what is kept, and how to continue.

A call of Java cannot be interrupted, so the process ends at once, and Java ends with it. The sentence follows from the
ledger, which is read without Spark and for at most a second.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread, current_thread, main_thread
from typing import Any

from spark_jobs.cli import recorded_runs
from spark_jobs.cli.live_line import LiveLine
from spark_jobs.job_protocol import RunState, StepName

EXIT_CODE = 130
_NOTHING = "nothing was changed"
_READ_WITHIN_S = 1.0
_RUNNING = (StepName.REPLAY, StepName.REPAIR, StepName.ACCEPT)
_SENTENCES: dict[str, str] = {
    StepName.REPORT: "the published results are as before; the same command writes the report",
    StepName.ROLLBACK: "the same command continues; `tidemark status` shows what is published",
    StepName.MAINTAIN: "all that readers need is kept; the same command continues",
}


def end_at_once() -> None:
    """End the process at Ctrl-C, for the time in which no command works yet."""
    _handle(lambda: _end(f"interrupted; {_NOTHING}\n"))


@contextmanager
def answered(line: LiveLine, as_json: bool) -> Iterator[None]:
    """Answer Ctrl-C for the command of `line`, for the length of a `with` block."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    _handle(lambda: _answer(line, as_json))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def sentence(line: LiveLine) -> str:
    """Return what an interrupted command leaves, and how to continue."""
    rest = _of_run(line) if line.command in _RUNNING else _SENTENCES.get(line.command, _NOTHING)
    return f"interrupted; {rest}"


def _of_run(line: LiveLine) -> str:
    if not line.run_id:
        return "nothing was published; the same command starts again"
    match _state(line):
        case None:
            return f"`tidemark status` shows whether run {line.run_id} is published; the same command continues"
        case RunState.PUBLISHED if line.command == StepName.REPAIR:
            return f"run {line.run_id} is published; the same command repairs the other windows"
        case RunState.PUBLISHED:
            return f"run {line.run_id} is published; `tidemark report` writes its report"
        case RunState.AUDITED | RunState.ACCEPTED:
            return f"run {line.run_id} may be published in part; the same command publishes the rest"
        case _:
            return f"nothing of run {line.run_id} was published; the same command continues"


def _state(line: LiveLine) -> RunState | None:
    """Return the state of the run; None if the ledger is remote, or is not read within the time."""
    states: list[RunState] = []

    def read() -> None:
        with suppress(Exception):
            runs = None if line.lake is None else recorded_runs.of(line.lake)
            if runs is not None:
                states.append(next((run.state for run in runs if run.run_id == line.run_id), RunState.PLANNED))

    reading = Thread(target=read, daemon=True)
    reading.start()
    reading.join(_READ_WITHIN_S)
    return states[0] if states else None


def _answer(line: LiveLine, as_json: bool) -> None:
    text = sentence(line)
    if as_json:
        os.write(1, f"{json.dumps({'error': text, 'exit_code': EXIT_CODE})}\n".encode())
    _end(f"{line.clear}{text}\n")


def _end(text: str) -> None:
    os.write(2, text.encode())
    os._exit(EXIT_CODE)


def _handle(answer: Callable[[], None]) -> None:
    def handler(*_: Any) -> None:
        # A second Ctrl-C must not interrupt the answer.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        answer()

    signal.signal(signal.SIGINT, handler)
