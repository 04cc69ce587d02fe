"""The form of a backfill by hand: the pipeline, the windows, the settings to replace in this run.

The run's first task checks all fields together with the pipeline file, and names what is wrong in words. Airflow checks
types, ranges and names before a run begins. It shows a refused pattern as a regular expression, so texts have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from airflow.sdk import Param

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline import Mode, Pipeline, PipelineError, load
from spark_jobs.pipeline.schedules import MOST_SLICES
from tidemark_airflow.dags import interval_fields
from tidemark_airflow.dags.interval_fields import NEWEST, OLDEST
from tidemark_airflow.jobs.form_settings import FURTHER, refused_settings
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.jobs.task_ids import AT_A_TIME

_KEY = r"^[a-z_]+(\.[A-Za-z_][A-Za-z0-9_]*)+$"

# Airflow's picker sends an instant; its time zone is the browser's, unless the user chooses another.
_TIMES = "in the time zone that the picker names."
_FROM = f"Start of the first window to replace, {_TIMES} Empty: from the first window on."
_TO = f"End of the last window to replace, {_TIMES} Empty: to the last window."
_DRY_RUN = "Show what would be read and replaced, in the log of the task plan, and stop. Nothing is computed."
_APPROVE = "Wait for a person's approval between the checks and publishing, under Required Actions of the run."
_SLICES = (
    "Into how many stretches of time the windows are cut, each written before the next begins. The log of the task "
    "replay shows how many are done, and about how long the others will take."
)
_APART = (
    "Run each slice as a separate Airflow task and Spark application, as many at once as the pool has slots. "
    "Without this, one application stages the slices one after the other."
)
_RESTATE = (
    "Replace a part of time although the results around it were computed with other settings. The results around it "
    "stay. Without this, such a run is refused."
)
_CHANGED = (
    "Compute only the windows that changes of the source since the published results affect: rows that were mended, "
    "deleted or added. Leave From and To empty. Where this is impossible, everything is read, and the log has the "
    "reason."
)
_COMPLETE = (
    "Also publish complete_results: the result of each window with all of its rows, as if no row had been too late, "
    "and how many rows its published result lacks."
)
_EVERY = (
    "The length of an interval, such as `1 day`: a multiple of the distance of windows. Each interval of [from, to) is "
    "a run, which is published alone. One that fails stops no other. Empty: one run for the whole range."
)
_ORDER = "Which interval begins first."
_SIDE_BY_SIDE = "How many intervals are computed at once, each by a Spark application in a slot of the pool."
_ONLY_MISSING = (
    "Leave out each interval whose windows are published with the same settings. The log of the task intervals.cut "
    "has the reason for each interval."
)
_AS_FILE = "Empty: as in the file."
_SETTINGS = f"""By dotted key, written as in the file: `{{"windows.size": "2 hours"}}`. `null` removes a key.
Times, emission and mode. An administrator allows further keys by `{FURTHER}`."""

#: Parts of the form that are folded until the user opens them.
_ADVANCED = "Advanced"
_INTERVALS = "A run for each interval"
_FOLDED = "Settings of the pipeline file, replaced in this run"

#: A field of the form -> the key of the pipeline file that it replaces.
SETTINGS = {
    "out_of_orderness": "watermark.out_of_orderness",
    "allowed_lateness": "windows.allowed_lateness",
    "emit": "watermark.emit",
}


_MODE = "replay.mode"


class FormError(ValueError):
    """A form that cannot be fulfilled; the message names every wrong field and what to do."""

    code = ErrorCode.FORM_WRONG


def form(pipelines: Mapping[str, Pipeline]) -> dict[str, Param]:
    """Return the fields, in the order of the form."""
    return {
        "pipeline": of_pipelines(pipelines, "The pipeline whose windows to recompute."),
        "from": _text("From", _FROM, format="date-time"),
        "to": _text("To", _TO, format="date-time"),
        "changed": _switch("Only what changed", _CHANGED),
        "dry_run": _switch("Dry run", _DRY_RUN),
        "approve": _switch("Ask before publishing", _APPROVE),
        "every": _text("Length of an interval", _EVERY, section=_INTERVALS),
        "order": Param(
            OLDEST, type="string", enum=[OLDEST, NEWEST], title="Order", description_md=_ORDER, section=_INTERVALS
        ),
        "side_by_side": Param(
            1,
            type="integer",
            enum=list(AT_A_TIME),
            title="Side by side",
            description_md=_SIDE_BY_SIDE,
            section=_INTERVALS,
        ),
        "only_missing": _switch("Only what is missing or failed", _ONLY_MISSING, section=_INTERVALS),
        "slices": Param(
            1,
            type="integer",
            minimum=1,
            maximum=MOST_SLICES,
            title="Slices",
            description_md=_SLICES,
            section=_ADVANCED,
        ),
        "apart": _switch("Slices apart", _APART, section=_ADVANCED),
        "restate": _switch("Restate", _RESTATE, section=_ADVANCED),
        "complete": _switch("Complete results", _COMPLETE, section=_ADVANCED),
        "out_of_orderness": _folded("Out-of-orderness bound", f"Such as `6 hours`. {_AS_FILE}"),
        "allowed_lateness": _folded("Allowed lateness", f"Such as `2 hours`. {_AS_FILE}"),
        "emit": _folded("Emission", f"`per_event`, `{{every: 1 minute}}` or `{{every_n: 1000}}`. {_AS_FILE}"),
        "settings": settings(_SETTINGS, section=_FOLDED),
    }


def request_of(filled: Mapping[str, Any], pipelines: Mapping[str, Pipeline]) -> Request:
    """Return the request of a filled form. Raises FormError with everything that is wrong with the form."""
    _, path = pipeline_of(filled, pipelines)
    problems: list[str] = []
    start, end = (_moment(name, filled.get(name), problems) for name in ("from", "to"))
    if start and end and start >= end:
        problems.append(f"from and to: [{start.isoformat()}, {end.isoformat()}) holds no window")
    if filled.get("changed") and any((filled.get(name) or "").strip() for name in ("from", "to", "every")):
        problems.append(
            "changed: the changes of the source decide which windows are computed; leave from, to and every empty, or "
            "switch this off"
        )
    overrides = overrides_of(filled, path, problems)
    with_overrides = None if problems else partial(load, path, overrides=overrides)
    problems += interval_fields.problems_of(filled, start, end, with_overrides)
    if problems:
        raise FormError("\n".join(problems))
    request = Request(
        pipeline_file=path,
        start=start.isoformat() if start else None,
        end=end.isoformat() if end else None,
        overrides=overrides,
    )
    if filled.get("restate"):
        request["restate"] = True
    if filled.get("changed"):
        request["changed"] = True
    if filled.get("dry_run"):
        request["dry_run"] = True
    if filled.get("approve"):
        request["approve"] = True
    if (filled.get("slices") or 1) > 1:
        request["slices"] = filled["slices"]
        if filled.get("apart"):
            request["apart"] = True
    return {**request, **interval_fields.requested(filled)}


def of_pipelines(pipelines: Mapping[str, Pipeline], description: str) -> Param:
    """Return the field that names a pipeline, a list of all pipelines. Without a default it must be filled."""
    return Param(type="string", enum=sorted(pipelines), title="Pipeline", description_md=description)


def settings(description: str, **more: Any) -> Param:
    """Return the field of settings to replace."""
    keys = {"pattern": _KEY}
    more = {"title": "Other settings", "description_md": description, "propertyNames": keys, **more}
    return Param({}, type=["object", "null"], **more)


def pipeline_of(filled: Mapping[str, Any], pipelines: Mapping[str, Pipeline]) -> tuple[Pipeline, str]:
    """Return the pipeline that a form names, and its file. Raises FormError if there is none."""
    pipeline = pipelines.get(str(filled.get("pipeline")))
    if pipeline is None or pipeline.path is None:
        raise FormError(f"pipeline: there is no good pipeline file for '{filled.get('pipeline')}'")
    return pipeline, pipeline.path


def overrides_of(filled: Mapping[str, Any], path: str, problems: list[str]) -> dict[str, str]:
    """Return the settings that a form replaces, by key; adds what is wrong with them to `problems`."""
    overrides = _overrides(filled, problems)
    if refused := list(refused_settings(overrides)):
        # The file is not read with them: an error would show the value of a variable.
        problems += refused
        return overrides
    try:
        load(path, overrides=overrides)
    except PipelineError as error:
        problems.append(str(error))
    return overrides


# Of a field whose value it refuses, Airflow shows the schema alone, so the description is part of the schema. Airflow
# marks a field as required unless it may be null.
def _text(title: str, description: str, **more: Any) -> Param:
    return Param(None, type=["null", "string"], title=title, description_md=description, **more)


def _folded(title: str, description: str) -> Param:
    return _text(title, description, section=_FOLDED)


def _switch(title: str, description: str, **more: Any) -> Param:
    return Param(False, type=["boolean", "null"], title=title, description_md=description, **more)


def _moment(name: str, text: str | None, problems: list[str]) -> datetime | None:
    if not text or not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        problems.append(f"{name}: found '{text}', expected a time such as 2013-07-01 or 2013-07-01T06:00Z, or nothing")
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _overrides(filled: Mapping[str, Any], problems: list[str]) -> dict[str, str]:
    overrides = {key: _as_yaml(value) for key, value in (filled.get("settings") or {}).items()}
    for name, key in SETTINGS.items():
        value = filled.get(name)
        if not value or not value.strip():
            continue
        if key in overrides:
            problems.append(f"settings: {key} is also the field {name}; fill one of them")
        overrides[key] = value.strip()
    if filled.get("complete"):
        if overrides.get(_MODE, Mode.COMPLETE) != Mode.COMPLETE:
            problems.append(f"settings: {_MODE} is also the field complete; fill one of them")
        overrides[_MODE] = Mode.COMPLETE.value
    return overrides


def _as_yaml(value: Any) -> str:
    """Return a value as the text of a pipeline file; JSON is YAML."""
    return value if isinstance(value, str) else json.dumps(value)
