"""The live line: what a command is doing, for how long, and how much of it is done where Spark knows it.

On a terminal the newest line of progress is live, and becomes plain when the next one begins. Elsewhere each line is
plain from the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from rich import progress as columns
from rich.console import Console
from rich.table import Column
from rich.text import Text

from spark_jobs.cli import printing
from spark_jobs.job_protocol import RUN_ID, StepName, progress_line
from spark_jobs.pipeline.printable import printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.tables.lake import Lake

#: How often the tasks of Spark are counted.
_EVERY_S = 0.5
# The length of the bar, in characters.
_BAR = 10
# Show the cursor, and clear the line that it is in.
_CLEAR = "\x1b[?25h\r\x1b[2K"


class LiveLine:
    """The progress of one command, on standard error. It is called with a step and a text.

    `run_id` is the run that the command works on, `lake` its lake; both are unknown at first.
    """

    def __init__(self, command: str, console: Console) -> None:
        self.command = command
        self.run_id = ""
        self.lake: Lake | None = None
        self._console = console
        self._line = ""
        self._bar = _bar(console) if console.is_terminal else None
        self._task = self._bar.add_task("", total=None) if self._bar else None
        self._ended = Event()
        self._counting: Thread | None = None

    def __call__(self, step: str, text: str) -> None:
        """Show `[tidemark] step: text`."""
        if step in (StepName.PLAN, StepName.ACCEPT) and (run := RUN_ID.search(text)):
            self.run_id = run[0]
        line = printable(progress_line(step, text))
        if self._bar is None or self._task is None:
            self._print(line)
            return
        self._print(self._line)
        self._line = line
        self._bar.reset(self._task, total=None, description=line)
        self._bar.start()

    def count_tasks(self, spark: SparkSession) -> None:
        """Show from now on how many tasks of Spark's running jobs are done."""
        if self._bar is not None and self._counting is None:
            self._counting = Thread(target=self._count, args=(spark,), daemon=True)
            self._counting.start()

    def stop(self) -> None:
        """End the live line; the newest line stays."""
        self._ended.set()
        if self._counting is not None:
            self._counting.join()
        if self._bar is not None:
            self._bar.stop()
            self._print(self._line)

    @property
    def clear(self) -> str:
        """What to write to the terminal before a last line, in the place of the live one."""
        return "" if self._bar is None else _CLEAR

    def _print(self, line: str) -> None:
        if line:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _count(self, spark: SparkSession) -> None:
        while not self._ended.wait(_EVERY_S):
            # Java may end while its tasks are counted.
            with suppress(Exception):
                ended, tasks = _tasks(spark)
                if self._bar is not None and self._task is not None:
                    self._bar.update(self._task, completed=ended, total=tasks or None)


@contextmanager
def displayed(command: str) -> Iterator[LiveLine]:
    """Yield the live line of a command."""
    line = LiveLine(command, printing.ERR)
    try:
        yield line
    finally:
        line.stop()


def _tasks(spark: SparkSession) -> tuple[int, int]:
    """Return how many tasks of Spark's running jobs are done, and how many tasks they have."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    known_stages = [stage for stage in stages if stage is not None]
    return sum(s.numCompletedTasks for s in known_stages), sum(s.numTasks for s in known_stages)


class _Work(columns.ProgressColumn):
    """The time since the line began; while tasks run also a bar, their number, their rate and the time left."""

    def render(self, task: columns.Task) -> Text:
        parts = [columns.TimeElapsedColumn().render(task).plain]
        if task.total:
            filled = round(_BAR * task.completed / task.total)
            parts += ["━" * filled + "─" * (_BAR - filled), f"{task.completed:,.0f} of {task.total:,.0f} tasks"]
        if task.total and task.speed:
            parts += [f"{task.speed:,.1f}/s", f"{task.time_remaining or 0:,.0f} s left"]
        return Text("  ".join(parts), style="cyan", no_wrap=True)


def _bar(console: Console) -> columns.Progress:
    line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return columns.Progress(
        columns.SpinnerColumn(),
        columns.TextColumn("{task.description}", markup=False, table_column=line),
        _Work(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        refresh_per_second=4,
        expand=True,
    )
