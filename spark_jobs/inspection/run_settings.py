"""The settings of a run that explanations need, as the ledger has them: those of the run, not of the file as it is now.

A ledger of a version before 0.2 has no settings. Then each of them is unknown (None).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from spark_jobs.pipeline.durations import DurationError, parse_duration
from spark_jobs.semantics.spec import FOREVER_MS, LateData, Strategy, WindowKind
from spark_jobs.tables.run import REPAIR, Run

_NOT_SET, _NONE = "not set", "none"
_BOUNDED = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.TIME_LAG)
_BOUND, _LAG = "watermark.out_of_orderness", "watermark.lag"


@dataclass(frozen=True)
class Bound:
    """The setting that a watermark's distance follows: its name in a pipeline file, and its value in milliseconds."""

    setting: str
    ms: int


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run by dotted name; empty if the ledger has none."""

    texts: Mapping[str, str]
    updates: bool = False

    @classmethod
    def of(cls, run: Run) -> RunSettings:
        """Return the settings of a run; a repair accepts all late rows of its windows."""
        texts = run.settings
        return cls(texts, run.kind == REPAIR or texts.get("windows.late_data") == LateData.UPDATE.value)

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
        strategy = self.texts.get("watermark.strategy")
        if strategy == Strategy.MONOTONOUS.value:
            return Bound(_BOUND, 0)
        name = {Strategy.BOUNDED_OUT_OF_ORDERNESS.value: _BOUND, Strategy.TIME_LAG.value: _LAG}.get(strategy or "")
        ms = None if name is None else self._duration(name)
        return None if name is None or ms is None else Bound(name, ms)

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
