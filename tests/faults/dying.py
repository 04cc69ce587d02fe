"""A driver that a signal hits at a moment, with its JVM.

    python -m tests.faults.dying SIGNAL MOMENT STEP FILE [options]

SIGKILL ends the driver. SIGSTOP pauses it, until SIGCONT lets it go on.

A moment is a phase of a work that writes into the lake, such as `during stage panes slice-0-of-2/late`:

    before    the work is about to begin
    during    the first new file appears in the folder that the work writes to
    after     the work has returned, and nothing has followed

Works are known by what they write and not by a clock, so a moment is the same one in every run.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from spark_jobs.jobs.audit import audit
from spark_jobs.jobs.report import report
from spark_jobs.tables import delta_transaction, ledger, staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.replaced_rows import ReplacedRows

PHASES = ("before", "during", "after")

#: Takes part in a work: its name, the folder that it writes to, and the work itself.
Witness = Callable[[str, str, Callable[[], Any]], Any]


@contextmanager
def witnessed(witness: Witness) -> Iterator[None]:
    """Let `witness` do every work that writes into a lake."""
    patched: list[tuple[Any, str, Callable[..., tuple[str, str]]]] = [
        (staging, "stage", _staged),
        (staging, "write_work_once", _work_table),
        (ledger, "record", _entered),
        (audit, "record", _judged),
        (report, "report", _reported),
        (ReplacedRows, "_carried_over", _carried),
        (delta_transaction.Transaction, "commit", _committed),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patched]
    for (owner, name, describe), (_, _, work) in zip(patched, before, strict=True):
        setattr(owner, name, _through(witness, describe, work))
    try:
        yield
    finally:
        for owner, name, work in before:
            setattr(owner, name, work)


def _through(
    witness: Witness, describe: Callable[..., tuple[str, str]], work: Callable[..., Any]
) -> Callable[..., Any]:
    def replacement(*arguments: Any, **options: Any) -> Any:
        name, folder = describe(*arguments, **options)
        return witness(name, folder, lambda: work(*arguments, **options))

    return replacement


def _staged(rows: Any, lake: Lake, run_id: str, table: str, part: str, *, folder: str | None = None) -> tuple[str, str]:
    suffix = " behind" if folder else ""
    return f"stage {table} {part}{suffix}", lake.staged(table, folder or run_id)


def _work_table(compute: Any, lake: Lake, run_id: str, name: str, *_: Any) -> tuple[str, str]:
    return f"keep {name}", lake.work(run_id, name)


def _entered(spark: Any, lake: Lake, run: Any, step: Any) -> tuple[str, str]:
    return f"enter {step.step}", lake.path(ledger.TABLE)


def _judged(spark: Any, lake: Lake, *_: Any) -> tuple[str, str]:
    return "write quality", lake.path(audit.TABLE)


def _reported(spark: Any, pipeline: Any, lake: Lake, *_: Any) -> tuple[str, str]:
    return "write report", f"{lake.home}/reports"


def _carried(carrier: Any, _: Any) -> tuple[str, str]:
    return f"carry {carrier._table}", f"{carrier._lake.path(carrier._table)}/staged"


def _committed(transaction: Any, *_: Any) -> tuple[str, str]:
    path = transaction._path
    return f"commit {path.rsplit('/', 1)[-1]}", path


def killing(moment: str, kill: Callable[[], None]) -> Witness:
    """What calls `kill` at the moment."""
    phase, _, target = moment.partition(" ")

    def witness(name: str, folder: str, work: Callable[[], Any]) -> Any:
        if name != target:
            return work()
        if phase == "before":
            kill()
            return work()
        if phase == "during":
            over = Event()
            watcher = Thread(target=_watch, args=(folder, _files(folder), over, kill), daemon=True)
            watcher.start()
            result = work()
            over.set()
            watcher.join()
            return result
        result = work()
        kill()
        return result

    return witness


def _watch(folder: str, files_before: set[str], over: Event, kill: Callable[[], None]) -> None:
    while not over.is_set() and _files(folder) <= files_before:
        pass
    kill()


def _files(folder: str) -> set[str]:
    return {entry.name for entry in Objects(folder).below()}


if __name__ == "__main__":
    from spark_jobs.jobs import step

    sent = signal.Signals[sys.argv[1]]
    with witnessed(killing(sys.argv[2], lambda: os.killpg(os.getpgrp(), sent))):
        sys.exit(step.main(sys.argv[3:]))
