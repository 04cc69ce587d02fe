"""The protocol of jobs: the names, states, exit codes, options and result file that a job shares with its caller.

    caller -> job    step.py STEP PIPELINE_FILE [options] --result ADDRESS
    job -> caller    exit code, the object at ADDRESS (`StepResult`), lines `[tidemark] step: text` on standard error

A caller is Airflow, the command `tidemark` or a user's script. Each name is spelled here and nowhere else. Counts are
the exception: each step names its own counts, and this module orders them. Standard library only, because Airflow reads
this module without Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from typing import Any


class StepName(StrEnum):
    """What a job does for a run. `RUN` takes all steps of a run.

    `LAND` brings a source table, `INTERVALS` cuts a range for a run each, and `MAINTAIN` is about published runs: these
    belong to no run.
    """

    INTERVALS = "intervals"
    PLAN = "plan"
    WATERMARKS = "watermarks"
    SLICE = "slice"
    REPLAY = "replay"
    AUDIT = "audit"
    ACCEPT = "accept"
    PUBLISH = "publish"
    REPORT = "report"
    ROLLBACK = "rollback"
    REPAIR = "repair"
    RUN = "run"
    LAND = "land"
    MAINTAIN = "maintain"


#: The steps of a whole run behind its plan, in order.
AFTER_PLAN = (StepName.REPLAY, StepName.AUDIT, StepName.PUBLISH, StepName.REPORT)


class StepState(StrEnum):
    """How a step ended; the ledger records `DONE`, `BLOCKED` and `FAILED`."""

    DONE = "done"
    #: The step had been done before, or there was nothing to do.
    UNCHANGED = "unchanged"
    #: Checks failed, and the pipeline leaves the decision to a person.
    NEEDS_APPROVAL = "asks"
    #: The run was planned on results that are no longer the published ones.
    STALE = "stale"
    #: Checks failed, so nothing may be published.
    BLOCKED = "blocked"
    #: Only Spark can take the step, and it was requested without Spark: nothing was written.
    NEEDS_SPARK = "needs_spark"
    #: A dry run: nothing was written.
    DRY_RUN = "foreseen"
    FAILED = "failed"


class RunState(StrEnum):
    """How far a run has come, by the last of its steps that the ledger has."""

    PLANNED = "planned"
    STAGED = "staged"
    AUDITED = "audited"
    BLOCKED = "blocked"
    ACCEPTED = "accepted"
    PUBLISHED = "published"
    DISCARDED = "discarded"
    FAILED = "failed"


class ExitCode(IntEnum):
    """How a job's process ends."""

    DONE = 0
    FAILED = 1
    WRONG_INPUT = 2
    BLOCKED = 3

    @property
    def is_final(self) -> bool:
        """True if another attempt would end the same way."""
        return self in (ExitCode.WRONG_INPUT, ExitCode.BLOCKED)


class Option(StrEnum):
    """An option of a job's command line that its callers also spell."""

    RUN_ID = "--run-id"
    FROM = "--from"
    TO = "--to"
    ARRIVED_TO = "--arrived-to"
    RESTATE = "--restate"
    CHANGED = "--changed"
    DOWNSTREAM = "--downstream"
    DRY_RUN = "--dry-run"
    SLICES = "--slices"
    SLICE = "--slice"
    BECAUSE = "--because"
    EVERY = "--every"
    NEWEST_FIRST = "--newest-first"
    ONLY_MISSING = "--only-missing"
    THEN = "--then"
    WITHOUT_SPARK = "--without-spark"
    WAIT = "--wait"
    SET = "--set"
    RESULT = "--result"
    VARIABLE = "--variable"
    VARIABLES = "--variables"
    LAKE = "--lake"


#: The form of a run's id: it is part of paths.
RUN_ID = re.compile(r"r[0-9a-f]{15}")
#: Where a server may add links to a report. No value of the data contains this text, because `<` is escaped.
PLACE_OF_LINKS = "<!-- links of the server -->"
#: The beginning of a line of progress, wherever in a log it stands.
PROGRESS_MARK = "[tidemark]"


def progress_line(step: str, text: str) -> str:
    """Return `[tidemark] step: text`."""
    return f"{PROGRESS_MARK} {step}: {text}"


class ProtocolError(ValueError):
    """A result that no job writes: not an object, or without a known state."""


@dataclass(frozen=True)
class StepResult:
    """How a step ended: the content of the file that `--result` names. Its fields are the file's keys.

    `pipeline` and `run_id` are empty where they are not known, such as for a pipeline file that cannot be read.
    `checks` counts `passed` and `failed`, and lists `failures`. `versions` is the Delta version of each published
    table. `report` is a path or URL. `code` is the code of the error, such as `TM205`.
    `figures` are Spark's, by the names of `spark_jobs.figures`.

    `slices` are the names that the step `watermarks` returns, for a job each. Those of the step `intervals` are
    intervals, `START/END` in ISO 8601.

    `following` are the results of the steps that the same job took behind this one. Each belongs to the caller's task
    for that step. For a repair, they are the steps of the last run that it took.

    `exit_code` is that of the job's process, which a caller on another machine does not see; None in `following`.
    """

    step: str
    run_id: str
    pipeline: str
    state: StepState
    message: str
    counts: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    report: str | None = None
    error: str | None = None
    seconds: float = 0.0
    slices: Sequence[str] = ()
    code: str | None = None
    following: Sequence[StepResult] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    exit_code: int | None = None

    @classmethod
    def failed(
        cls,
        step: str,
        error: str,
        state: StepState = StepState.FAILED,
        *,
        run_id: str = "",
        pipeline: str = "",
        code: str | None = None,
    ) -> StepResult:
        """Return the result of a step that raised; the message is the first line of `error`."""
        return cls(step, run_id, pipeline, state, next(iter(error.splitlines()), ""), error=error, code=code)

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, of plain types."""
        maps = {name: dict(getattr(self, name)) for name in _MAPS}
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        lists = {"slices": list(self.slices), "following": [result.to_json() for result in self.following]}
        return {**plain, "step": str(self.step), "state": self.state.value, **maps, **lists}

    @classmethod
    def from_json(cls, content: object) -> StepResult:
        """Read what `to_json` returned; other keys are ignored. Raises ProtocolError without a known state."""
        if not isinstance(content, Mapping):
            raise ProtocolError(f"a result is an object with a state, not {type(content).__name__}")
        state = content.get("state")
        if state not in list(StepState):
            raise ProtocolError(f"a result's state is one of {', '.join(StepState)}, not '{state}'")
        present = {f.name: content[f.name] for f in fields(cls) if content.get(f.name) is not None}
        texts = dict.fromkeys(_TEXTS, "")
        following = tuple(cls.from_json(result) for result in present.get("following", ()))
        return cls(**{**texts, **present, "state": StepState(state), "following": following})


_MAPS = ("counts", "checks", "versions", "figures")
_TEXTS = ("step", "run_id", "pipeline", "message")


#: The counts that measure what a run staged: joined pairs, windows with a result, firings.
STAGED_SIZES = ("pairs", "windows", "panes")
#: Counts in the order in which a reader follows the rows; other counts come after these.
COUNT_ORDER = (
    "changed_rows",
    "changed_invalid",
    "affected_windows",
    "rows_read",
    "invalid",
    "filtered",
    "quarantined",
    "duplicates",
    "unassigned",
    "on_time",
    "late",
    "too_late",
    *STAGED_SIZES,
    "early_panes",
    "late_panes",
)


def in_reading_order(counts: Iterable[str]) -> list[str]:
    """Return the names of `counts`: first by `COUNT_ORDER`, then the others in the order of `counts`."""
    names = list(counts)
    return [*(name for name in COUNT_ORDER if name in names), *(name for name in names if name not in COUNT_ORDER)]


def add_counts(results: Sequence[StepResult]) -> dict[str, int]:
    """Return the counts of several steps by name; the last step that counts a name wins."""
    return {name: count for result in results for name, count in result.counts.items()}
