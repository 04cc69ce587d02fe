"""The settings of a run that explanations need, as the ledger has them: those of the run, not of the file as it is now.

What a repair changes holds for its own windows alone, and is no setting here (`tables.repaired_windows`).

A ledger of a version before 0.2 has no settings. Then each of them is unknown (None).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from spark_jobs.explain import words
from spark_jobs.pipeline.durations import DurationError, parse_duration
from spark_jobs.semantics.spec import FOREVER_MS, LateData, Strategy, WindowKind
from spark_jobs.tables.run import Run

_NOT_SET, _NONE = "not set", "none"
_BOUNDED = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.TIME_LAG)
_BOUND, _LAG = "watermark.out_of_orderness", "watermark.lag"
_IDLE = "watermark.idle_timeout"


@dataclass(frozen=True)
class Bound:
    """What a watermark's distance follows: the strategy, and the distance in milliseconds."""

    strategy: Strategy
    ms: int

    @property
    def setting(self) -> str:
        """What a pipeline file changes for another distance."""
        return words.bound_setting(self.strategy)

    @property
    def now(self) -> str:
        """Its value in words."""
        return words.bound_now(self.strategy, self.ms)


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run by dotted name; empty if the ledger has none."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, run: Run) -> RunSettings:
        """Return the settings of a run."""
        return cls(run.settings)

    @property
    def updates(self) -> bool:
        """Whether every row updates its window, however late."""
        return self.texts.get("windows.late_data") == LateData.UPDATE.value

    @property
    def are_known(self) -> bool:
        """Whether the ledger has them."""
        return bool(self.texts)

    @property
    def kind(self) -> WindowKind | None:
        """The kind of windows; None if it is unknown."""
        text = self.texts.get("windows.kind")
        return WindowKind(text) if text in {kind.value for kind in WindowKind} else None

    @property
    def is_session(self) -> bool:
        """Whether windows are sessions."""
        return self.kind is WindowKind.SESSION

    @property
    def joins(self) -> bool:
        """Whether results are pairs of a join."""
        return any(name.startswith("join.") for name in self.texts)

    @property
    def joins_by_interval(self) -> bool:
        """Whether rows join by the distance of their times."""
        return self.joins and self.texts.get("join.lower", _NOT_SET) != _NOT_SET

    @property
    def joins_as_of(self) -> bool:
        """Whether rows join the version of their time."""
        return self.joins and self.texts.get("join.as_of", _NOT_SET) != _NOT_SET

    @property
    def is_united(self) -> bool:
        """Whether the run reads several sources."""
        return self.texts.get("sources", _NONE) not in (_NONE, "", "[]")

    @property
    def drops_late(self) -> bool:
        """Whether late rows are counted and not kept."""
        return self.texts.get("windows.late_data") == LateData.DROP.value

    @property
    def lateness_ms(self) -> int | None:
        """How long after its end a window takes rows; None if it is unknown."""
        return FOREVER_MS if self.updates else self._duration("windows.allowed_lateness")

    @property
    def slide_ms(self) -> int | None:
        """How far apart sliding windows start, by UTC; None for other windows, and for those of another zone."""
        is_sliding = self.kind is WindowKind.SLIDING and self.texts.get("windows.timezone", "UTC") == "UTC"
        return self._duration("windows.slide") if is_sliding else None

    @cached_property
    def bound(self) -> Bound | None:
        """The bound or lag of the only source; None for several sources and for other strategies."""
        if self.is_united:
            return None
        text = self.texts.get("watermark.strategy")
        strategy = next((each for each in _BOUNDED if each.value == text), None)
        if strategy is None or strategy is Strategy.MONOTONOUS:
            return None if strategy is None else Bound(strategy, 0)
        ms = self._duration(_LAG if strategy is Strategy.TIME_LAG else _BOUND)
        return None if ms is None else Bound(strategy, ms)

    @property
    def partitions_may_fall_idle(self) -> bool:
        """Whether a source partition may be idle at some moment; True if the settings are unknown."""
        if not self.are_known:
            return True
        if not self.is_united:
            is_custom = self.texts.get("watermark.strategy") == Strategy.CUSTOM.value
            return is_custom or self.texts.get(_IDLE, _NOT_SET) != _NOT_SET
        try:
            watermarks = [source["watermark"] for source in json.loads(self.texts["sources"])]
            return any(mark["idle_timeout_ms"] is not None or mark["strategy"] == "custom" for mark in watermarks)
        except (ValueError, KeyError, TypeError):
            return True

    @property
    def sources_are_bounded(self) -> bool:
        """Whether the watermark of each of several sources follows a bound or a lag."""
        try:
            sources = json.loads(self.texts.get("sources", "[]"))
            strategies = [Strategy(source["watermark"]["strategy"]) for source in sources]
        except (ValueError, KeyError, TypeError):
            return False
        return all(each in _BOUNDED for each in strategies)

    def names(self, setting: str) -> tuple[str, ...]:
        """Return a setting that is a list of columns; a name with a comma counts as two names."""
        text = self.texts.get(setting, _NONE)
        return () if text in (_NONE, "") else tuple(text.split(", "))

    def _duration(self, name: str) -> int | None:
        try:
            return parse_duration(self.texts[name])
        except (KeyError, DurationError):
            return None
