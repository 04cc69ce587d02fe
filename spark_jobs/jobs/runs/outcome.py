"""How a step of a run has ended: for whoever asked for it (`Outcome`), and for the ledger (`Clock.step`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from spark_jobs.tables.ledger import Step


@dataclass(frozen=True)
class Outcome:
    """How a step ended. `state`: done, unchanged (it had been done before), blocked or failed.

    `pipeline` is its name, empty where its file could not be read. `slices` are the names of those that can be staged
    apart, which the step watermarks gives.
    """

    step: str
    run_id: str
    pipeline: str
    state: str
    message: str
    counts: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    report: str | None = None
    error: str | None = None
    seconds: float = 0.0
    slices: Sequence[str] = ()


class Clock:
    """When a step began."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)
        self.monotonic = monotonic()

    def step(
        self,
        name: str,
        state: str,
        counts: Mapping[str, int] | None = None,
        versions: Mapping[str, int] | None = None,
        error: str | None = None,
        note: str | None = None,
    ) -> Step:
        """The ledger's entry for a step that ends now."""
        return Step(name, state, self.at, datetime.now(UTC), counts or {}, versions or {}, error, note)
