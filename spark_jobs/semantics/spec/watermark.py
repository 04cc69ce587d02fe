"""A watermark spec declares what a source partition's watermark is made of, and when it is emitted.

    strategy                               made of                                emitted
    bounded_out_of_orderness, monotonous   the highest event time less a bound    at emissions
    punctuated                             the values in marked rows              at rows
    time_lag                               the arrival clock less a lag           at emissions
    custom                                 a user's class                         at rows and at emissions
    none                                   nothing                                at the end of the input

A new strategy is classified here, by `Strategy.follows_rows` and `Strategy.emits_at_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, assert_never

from spark_jobs.semantics.spec.times import TimeField


class Placement(StrEnum):
    """Whether rows that `where` drops move the watermark."""

    SOURCE = "source"
    AFTER_WHERE = "after_where"


class Strategy(StrEnum):
    """How a source partition's watermark follows its rows (rules 10-15)."""

    BOUNDED_OUT_OF_ORDERNESS = "bounded_out_of_orderness"
    MONOTONOUS = "monotonous"
    PUNCTUATED = "punctuated"
    TIME_LAG = "time_lag"
    CUSTOM = "custom"
    NONE = "none"

    @property
    def follows_rows(self) -> bool:
        """True if a partition's watermark is the highest candidate of its rows, each row taken alone."""
        match self:
            case Strategy.BOUNDED_OUT_OF_ORDERNESS | Strategy.MONOTONOUS | Strategy.PUNCTUATED:
                return True
            case Strategy.TIME_LAG | Strategy.CUSTOM | Strategy.NONE:
                return False
            case _:
                assert_never(self)

    @property
    def emits_at_rows(self) -> bool:
        """True if a row may emit, so that each row is an epoch (semantics B3)."""
        match self:
            case Strategy.PUNCTUATED | Strategy.CUSTOM:
                return True
            case Strategy.BOUNDED_OUT_OF_ORDERNESS | Strategy.MONOTONOUS | Strategy.TIME_LAG | Strategy.NONE:
                return False
            case _:
                assert_never(self)


class EmitKind(StrEnum):
    """When the watermark is emitted (semantics B3)."""

    EVERY = "every"
    PER_EVENT = "per_event"
    EVERY_N = "every_n"


@dataclass(frozen=True)
class Emit:
    """The clock of emissions: `interval_ms` and `phase_ms` belong to EVERY, `n` to EVERY_N."""

    kind: EmitKind = EmitKind.PER_EVENT
    interval_ms: int = 0
    phase_ms: int = 0
    n: int = 0


@dataclass(frozen=True)
class Alignment:
    """How far a partition may be ahead of the slowest before it waits, and how often the drift is checked (rule 98)."""

    max_drift_ms: int
    update_interval_ms: int = 1_000


@dataclass(frozen=True)
class Watermark:
    """The watermark strategy of every source partition.

    `out_of_orderness_ms` belongs to BOUNDED_OUT_OF_ORDERNESS, `lag_ms` to TIME_LAG. PUNCTUATED: rows for which the SQL
    condition `when` is true emit the watermark `value`, or their event time if there is none. CUSTOM: `generator` names
    the user's class, `package.module:Class`, made with `arguments` for each partition. A partition without rows for
    longer than `idle_timeout_ms` does not hold the others back (rules 30-34); None: each does, for ever. `alignment`
    belongs to the order OFFSET; None: no partition waits.
    """

    strategy: Strategy = Strategy.BOUNDED_OUT_OF_ORDERNESS
    out_of_orderness_ms: int = 0
    placement: Placement = Placement.SOURCE
    emit: Emit = Emit()
    when: str | None = None
    value: TimeField | None = None
    lag_ms: int = 0
    idle_timeout_ms: int | None = None
    generator: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    alignment: Alignment | None = None

    @property
    def follows_rows(self) -> bool:
        """True if a partition's watermark is the highest candidate of its rows, each row taken alone."""
        return self.strategy.follows_rows

    @property
    def emits_at_rows(self) -> bool:
        """True if a row may emit, so that each row is an epoch (semantics B3)."""
        return self.strategy.emits_at_rows

    @property
    def is_bounded(self) -> bool:
        """True if the watermark is the highest event time less `bound_ms` less 1 ms (rules 10, 11)."""
        return self.follows_rows and not self.emits_at_rows

    @property
    def bound_ms(self) -> int:
        """The out-of-orderness bound of a bounded watermark; monotonous timestamps have the bound 0."""
        return 0 if self.strategy is Strategy.MONOTONOUS else self.out_of_orderness_ms

    @property
    def has_bound(self) -> bool:
        """True if the pipeline declares the bound, so that another one can take its place."""
        return self.strategy is Strategy.BOUNDED_OUT_OF_ORDERNESS

    @property
    def is_punctuated(self) -> bool:
        """True if marked rows carry the watermark (rules 14, 16)."""
        return self.strategy is Strategy.PUNCTUATED

    @property
    def is_custom(self) -> bool:
        """True if a user's class makes the watermark (rules 16-18)."""
        return self.strategy is Strategy.CUSTOM

    @property
    def follows_clock(self) -> bool:
        """True if the watermark is the arrival clock less a lag (rule 18)."""
        return self.strategy is Strategy.TIME_LAG

    @property
    def is_absent(self) -> bool:
        """True if there is no watermark before the end of the input (rule 15)."""
        return self.strategy is Strategy.NONE

    @property
    def moves_at_every_tick(self) -> bool:
        """True if the watermark moves at each tick of the clock, with or without rows."""
        return self.follows_clock and self.emit.kind is EmitKind.EVERY

    @property
    def may_move_without_rows(self) -> bool:
        """True if an emission may change the watermark although no row has come since the emission before."""
        return self.follows_clock or self.is_custom or self.idle_timeout_ms is not None

    @property
    def may_fall_idle(self) -> bool:
        """True if the silence of a partition can change the watermark (rules 30-34)."""
        return self.idle_timeout_ms is not None and not self.is_absent

    @property
    def holds_at_min(self) -> bool:
        """True if the source neither emits nor falls idle, and holds every source beside it at MIN for ever."""
        return self.is_absent and self.idle_timeout_ms is None

    @property
    def round_ms(self) -> int:
        """How long a round of the order OFFSET takes (semantics B2)."""
        return 1_000 if self.alignment is None else self.alignment.update_interval_ms
