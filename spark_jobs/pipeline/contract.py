"""The contract is every key that a pipeline file may contain: its form, whether it is required, and its value.

A name that belongs to a later version is listed as `later`: it is refused by name, never ignored and never taken for a
typo. Keys that are left out get the defaults of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from spark_jobs.pipeline import join_rules, quality_rules, quarantine, row_rules, rules
from spark_jobs.pipeline.document import join
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import Form, choice, duration, flag, pattern, ratio, whole_number
from spark_jobs.pipeline.joins import JOIN, Declared
from spark_jobs.pipeline.model import (
    ComputedColumn,
    EndOfInput,
    Mode,
    Order,
    Pipeline,
    Quality,
    QuarantineRule,
    Repair,
    ReplayOrder,
    Results,
    Source,
    UnitedSource,
    Upkeep,
    Watermark,
    WindowKind,
    Windows,
)
from spark_jobs.pipeline.quality import QUALITY
from spark_jobs.pipeline.records import Either, Field, ListOf, Record
from spark_jobs.pipeline.schedules import SCHEDULE, catchup_is_of_runs_that_go_on
from spark_jobs.pipeline.source_block import SOURCE_BLOCK, SOURCE_FIELDS
from spark_jobs.pipeline.sources import SOURCE, together
from spark_jobs.pipeline.watermark_block import WATERMARK_BLOCK
from spark_jobs.pipeline.windows_block import WINDOWS_BLOCK


def _with_columns(source: Source, columns: tuple[ComputedColumn, ...]) -> Source:
    return replace(source, columns=(*source.columns, *columns))


def _united(name: str, watermark: Watermark = Watermark(), **source: Any) -> UnitedSource:  # noqa: B008
    if source.get("select"):
        source["select"] = (*source["select"], SOURCE)
    return UnitedSource(name, Source(**source), watermark)


def _pipeline(
    source: Source | None = None,
    sources: tuple[UnitedSource, ...] = (),
    join: Declared | None = None,
    windows: tuple[Windows, tuple[ComputedColumn, ...]] | None = None,
    **rest: Any,
) -> Pipeline | None:
    """Return None if a rule has reported a problem with the sources, the join or the windows."""
    of_windows, of_key = windows or (None, ())
    if source is not None:
        source = replace(_with_columns(source, of_key), quarantine=_quarantine(rest.get("quality", Quality())))
    sources = tuple(replace(united, source=_with_columns(united.source, of_key)) for united in sources)
    if len({united.name for united in sources}) == len(sources) > 1:
        rest["sources"], source = sources, together(sources)
    if join is not None:
        rest["join"] = join.of(tuple(united.name for united in sources) or join.names)
        of_windows = of_windows or Windows(kind=WindowKind.NONE)
        if "quality" in rest:
            rest["quality"] = _about_pairs(rest["quality"])
    return None if source is None or of_windows is None else Pipeline(source=source, windows=of_windows, **rest)


def _quarantine(quality: Quality) -> tuple[QuarantineRule, ...]:
    """Return the rules about rows of the source, without those that a rule of the contract has refused."""
    rules_of_rows = []
    for expectation in quality.expectations:
        with suppress(RefusedError):
            rules_of_rows += [quarantine.rule(expectation)] if expectation.quarantines else []
    return tuple(rules_of_rows)


def _about_pairs(quality: Quality) -> Quality:
    """Return `quality` with expectations about the pairs of a join where they name no table."""
    expectations = (replace(e, table="pairs") if e.table == "panes" else e for e in quality.expectations)
    return replace(quality, expectations=tuple(expectations))


_REPLAY = Record(
    ReplayOrder,
    fields=(
        Field(
            "order",
            "order",
            choice(Order),
            meaning="Order in which rows arrive.",
        ),
        Field(
            "end_of_input",
            "end_of_input",
            choice(EndOfInput),
            meaning="Whether the end of the input closes all windows, or leaves them open for a later run.",
        ),
        Field(
            "rows_per_round",
            "rows_per_round",
            whole_number("a number of rows, at least 1", least=1),
            meaning="Rows that each source partition reads in a round. Only for the order `offset`.",
        ),
        Field(
            "mode",
            "mode",
            choice(Mode),
            meaning="Whether a run also publishes complete results.",
        ),
    ),
)

_REPAIR = Record(
    Repair,
    fields=(
        Field(
            "max_too_late_rows",
            "max_too_late_rows",
            whole_number("a number of rows, at least 0", least=0),
            meaning="A closed window that missed more rows than this, over all keys, is repaired. Without this "
            "key, any number is allowed.",
        ),
        Field(
            "max_too_late_ratio",
            "max_too_late_ratio",
            ratio("a share between 0 and 1, such as 0.01"),
            meaning="A closed window that missed a larger share of its rows is repaired. Without this key, any "
            "share is allowed.",
        ),
        Field(
            "ask",
            "ask",
            flag("true or false"),
            meaning="Whether a person decides in Airflow before windows are repaired.",
        ),
    ),
)

_RESULTS = Record(
    Results,
    fields=(
        Field(
            "change_data_feed",
            "change_data_feed",
            flag("true or false"),
            meaning="Whether published tables have Delta's change data feed, from the next published run on. "
            "Without this key, they stay as they are, and new tables have none.",
        ),
        Field(
            "clustered",
            "clustered",
            flag("true or false"),
            meaning="Whether published tables declare liquid clustering by time, from the next published run on. "
            "Other writers then keep this order. Without this key, the tables stay as they are.",
        ),
    ),
)

_MAINTENANCE = Record(
    Upkeep,
    fields=(
        Field(
            "retain",
            "retain_ms",
            duration("a duration such as '30 days'"),
            meaning="Time for which states that readers saw are kept, and what blocked and unfinished runs staged.",
        ),
        Field(
            "keep_runs",
            "keep_runs",
            whole_number("a number of runs, at least 1", least=1),
            meaning="Number of the last published runs that are kept, however old they are.",
        ),
    ),
)

_NAME = pattern(
    "a name of lower-case letters, digits and _, a letter first, at most 100 characters", r"[a-z][a-z0-9_]{0,99}"
)

_SCHEMA = pattern(
    "a schema such as analytics or catalog.schema, of letters, digits, _ and -",
    r"[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)?",
)

#: What is the same for all sources of a pipeline, or belongs to an order that several do not have.
_OF_ONE_CLOCK = (*rules.OF_ALL_SOURCES, "alignment")

_UNITED = Record(
    _united,
    fields=(
        Field(
            "name",
            "name",
            _NAME,
            required=True,
            meaning="Name of the source, and the value of the column `source` in its rows.",
        ),
        *(field for field in SOURCE_FIELDS if field.name != "offset"),
        Field(
            "watermark",
            "watermark",
            replace(WATERMARK_BLOCK, fields=tuple(f for f in WATERMARK_BLOCK.fields if f.name not in _OF_ONE_CLOCK)),
            meaning="How the watermark of this source follows its rows. `emit` and `placement` are set once, in "
            "the pipeline's `watermark`.",
        ),
    ),
)
_UNITED_SOURCES = ListOf(_UNITED, "a list of two or more sources, each with a name")

PIPELINE = Record(
    _pipeline,
    fields=(
        Field(
            "name",
            "name",
            _NAME,
            required=True,
            meaning="Name of the pipeline, of its DAG and of its folder in the lake.",
        ),
        Field(
            "source",
            "source",
            SOURCE_BLOCK,
            meaning="The table that the pipeline reads.",
        ),
        Field(
            "sources",
            "sources",
            _UNITED_SOURCES,
            meaning="Two or more tables that the pipeline reads as one stream.",
        ),
        Field(
            "replay",
            "replay",
            _REPLAY,
            meaning="Order in which rows arrive, and what the end of the input means.",
        ),
        Field(
            "watermark",
            "watermark",
            WATERMARK_BLOCK,
            meaning="How the watermark follows the rows.",
        ),
        Field(
            "join",
            "join",
            JOIN,
            meaning="Which rows of two inputs form pairs.",
        ),
        Field(
            "windows",
            "windows",
            WINDOWS_BLOCK,
            meaning="Windows of each key, when they fire, and what they compute.",
        ),
        Field(
            "quality",
            "quality",
            QUALITY,
            meaning="Checks that results must pass before they are published.",
        ),
        Field(
            "repair",
            "repair",
            _REPAIR,
            meaning="When closed windows are computed again with the rows that they missed. Without this key, "
            "no window is repaired.",
        ),
        Field(
            "results",
            "results",
            _RESULTS,
            meaning="What published tables offer to their readers.",
        ),
        Field(
            "publish_to",
            "publish_to",
            _SCHEMA,
            meaning="Schema of a catalog, as `catalog.schema` or `schema`, in which each published table has the name "
            "`<pipeline>_<table>`. Without this key, published tables have paths alone.",
        ),
        Field(
            "maintenance",
            "maintenance",
            _MAINTENANCE,
            meaning="What maintenance keeps of the pipeline's files. Without this key, the Airflow DAG "
            "`tidemark_maintenance` leaves the pipeline out.",
        ),
        Field(
            "schedule",
            "schedule",
            SCHEDULE,
            meaning="When Airflow runs the pipeline. Without this key, you start each run.",
        ),
    ),
    rules=(
        rules.windows_or_a_join(WINDOWS_BLOCK.expected),
        rules.one_source_or_several,
        rules.a_column_is_computed_once,
        rules.keys_are_carried,
        rules.sources_share_emission_and_placement,
        rules.arrival_order_needs_arrival_time,
        rules.settings_belong_to_their_strategy,
        rules.future_guard_needs_arrival_time,
        rules.offsets_belong_to_their_order,
        rules.alignment_belongs_to_offset_order,
        rules.complete_results_have_columns_of_their_own,
        *quality_rules.RULES,
        *row_rules.RULES,
        *join_rules.RULES,
        catchup_is_of_runs_that_go_on,
    ),
)


def homes(form: Form = PIPELINE, key: str = "") -> Iterator[tuple[str, str]]:
    """Return every (name, mapping in which it is known) below a form."""
    if isinstance(form, Either) and form.block is not None:
        yield from homes(form.block, key)
    if isinstance(form, Record):
        for field in form.fields:
            yield field.name, key
            yield from homes(field.form, join(key, field.name))
