"""The main job on real flights: one run of the DAG `tidemark_departures_by_carrier`, with its progress and a summary.

It uses the database and the logs of the Airflow that `make up` starts, so that Airflow then shows the run. While that
Airflow runs, the demo uses a separate one (`.tidemark/demo`) and disturbs nothing. No process is left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from rich.console import Console

from spark_jobs.job_protocol import ExitCode
from tidemark_airflow.embedded import processes
from tidemark_airflow.embedded.installation import Installation, InstallationError
from tidemark_airflow.embedded.run_end import RunEnd
from tidemark_airflow.embedded.summary import Summary, location
from tidemark_airflow.jobs.progress import Progress, parse_progress

DAG_ID = "tidemark_departures_by_carrier"
_INTERRUPTED = 130


def demo(installation: Installation, console: Console, dag_id: str = DAG_ID) -> int:
    """Run the DAG, show its progress and the summary. Returns the exit code."""
    running = processes.of_demo(processes.carrying(installation.home))
    if running:
        pids = ", ".join(str(process.pid) for process in running)
        return _complain(console, f"another demo is running from this clone (processes {pids}); wait for it or end it")
    if installation.home.name == processes.DEMO:
        _line(console, "==> Airflow is running: this run goes into a separate database, and Airflow does not list it")
    installation.make()
    variables = {**installation.variables(os.environ), processes.PART: processes.DEMO}
    log, result = installation.logs / "demo.log", installation.home / "result.json"
    result.unlink(missing_ok=True)
    _line(console, f"==> Tidemark: {dag_id}, through Airflow and spark-submit")
    _line(console, f"    tables in {variables['TIDEMARK_LAKE']}, all output in {log}")
    began = time.monotonic()
    try:
        code = _run(installation, dag_id, variables, log, result, console, began)
    finally:
        processes.end(installation.home, patience_s=2)
    if code or not result.is_file():
        return _complain(console, f"Airflow ended with exit code {code}. The end of {log}:\n{_tail(log)}")
    ended = RunEnd.from_json(json.loads(result.read_text(encoding="utf-8")))
    return _sum_up(ended, time.monotonic() - began, console, is_separate=installation.home.name == processes.DEMO)


def _run(
    installation: Installation,
    dag_id: str,
    variables: dict[str, str],
    log: Path,
    result: Path,
    console: Console,
    began: float,
) -> int:
    command = (sys.executable, "-m", "tidemark_airflow.dag_run", dag_id, str(result))
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            env=variables,
            cwd=installation.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as child,
    ):
        _show(child.stdout or (), file, console, began)
        return child.wait()


def _show(output: Iterable[str], log: IO[str], console: Console, began: float) -> None:
    last: Progress | None = None
    for line in output:
        log.write(line)
        progress = parse_progress(line)
        if progress and progress != last:
            _line(console, f"    {time.monotonic() - began:6.1f} s  {progress.step:<8} {progress.text}")
            last = progress


def _sum_up(ended: RunEnd, seconds: float, console: Console, *, is_separate: bool) -> int:
    if ended.problem:
        return _complain(console, ended.problem, code=ExitCode.WRONG_INPUT)
    summary = Summary(ended.tasks, seconds)
    _line(console, "")
    console.print(summary.render())
    if summary.report:
        _line(console, f"\nreport: {location(summary.report)}")
        if not is_separate:
            _line(console, "make up starts Airflow, which lists this run")
    for task in summary.failed:
        reason = (task.failure or {}).get("reason") or "see the log for the reason"
        _complain(console, f"{task.task} failed, nothing is published that was not before: {reason}")
    return summary.exit_code


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])


def _line(console: Console, text: str) -> None:
    # A path is printed in one piece, and brackets in it are no markup.
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _complain(console: Console, reason: str, code: int = ExitCode.FAILED) -> int:
    _line(console, f"\nerror: {reason}")
    return code


def installation_of(environ: Mapping[str, str]) -> Installation:
    """Return the installation of `make up`, or a separate one while its Airflow runs. Raises InstallationError."""
    shared = Installation.of(environ)
    running = processes.carrying(shared.home)
    is_up = len(running) > len(processes.of_demo(running))
    return Installation.of(environ, processes.DEMO) if is_up else shared


def _interrupted(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Run the demo; returns its exit code."""
    if arguments:
        sys.stderr.write(f"error: found '{' '.join(arguments)}'; the demo takes no arguments\n")
        return ExitCode.WRONG_INPUT
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        return demo(installation_of(os.environ), Console())
    except InstallationError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.WRONG_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the next demo continues from here\n")
        return _INTERRUPTED
