"""The order of the commits of a publication: nothing is committed before all is prepared, and the gate first."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Lock

import pytest

from spark_jobs.jobs.publish.commit_order import commits_in_order
from spark_jobs.tables.lake import GATE_TABLE

OTHERS = ["watermarks", "panes", "window_results"]
TABLES = [*OTHERS[:1], GATE_TABLE, *OTHERS[1:]]


class Commits:
    """Prepares and commits tables, and records both; `failing` tables fail before they await anything."""

    def __init__(self, *, failing: tuple[str, ...] = (), committed: tuple[str, ...] = (), attempts: int = 1) -> None:
        self._failing, self._committed, self._attempts = failing, committed, attempts
        self._lock = Lock()
        self.events: list[tuple[str, str]] = []

    def __call__(self, table: str, awaits: Callable[[], None]) -> int:
        """Return the version of a table."""
        if table in self._failing:
            raise ValueError(table)
        if table not in self._committed:
            self._note("prepared", table)
            for _ in range(self._attempts):
                awaits()
            self._note("committed", table)
        return TABLES.index(table)

    def _note(self, event: str, table: str) -> None:
        with self._lock:
            self.events.append((event, table))


def committed(commits: Commits) -> list[str]:
    return [table for event, table in commits.events if event == "committed"]


@pytest.mark.parametrize("attempts", [1, 3])
def test_all_tables_are_prepared_then_the_gate_is_committed_then_the_others(attempts: int) -> None:
    commits = Commits(attempts=attempts)
    assert commits_in_order(commits, TABLES) == {table: number for number, table in enumerate(TABLES)}
    assert {event for event, _ in commits.events[: len(TABLES)]} == {"prepared"}
    assert committed(commits)[0] == GATE_TABLE
    assert sorted(committed(commits)) == sorted(TABLES)


def test_tables_are_prepared_side_by_side() -> None:
    together = Barrier(len(TABLES))

    def commit(table: str, awaits: Callable[[], None]) -> int:
        together.wait(timeout=60)
        awaits()
        return TABLES.index(table)

    assert commits_in_order(commit, TABLES)[GATE_TABLE] == TABLES.index(GATE_TABLE)


@pytest.mark.parametrize("table", TABLES)
def test_nothing_is_committed_if_a_table_cannot_be_prepared(table: str) -> None:
    commits = Commits(failing=(table,))
    with pytest.raises(ValueError, match=table):
        commits_in_order(commits, TABLES)
    assert committed(commits) == []


@pytest.mark.parametrize("earlier", [(GATE_TABLE,), (GATE_TABLE, OTHERS[1]), tuple(TABLES)])
def test_a_publication_that_had_begun_is_finished(earlier: tuple[str, ...]) -> None:
    commits = Commits(committed=earlier)
    assert commits_in_order(commits, TABLES) == {table: number for number, table in enumerate(TABLES)}
    assert sorted(committed(commits)) == sorted({*TABLES} - {*earlier})


def test_the_gate_alone_is_committed() -> None:
    assert commits_in_order(Commits(), [GATE_TABLE]) == {GATE_TABLE: TABLES.index(GATE_TABLE)}


def test_the_error_of_the_gate_is_raised() -> None:
    def commit(table: str, awaits: Callable[[], None]) -> int:
        awaits()
        if table == GATE_TABLE:
            raise LookupError(table)
        return 0

    with pytest.raises(LookupError, match=GATE_TABLE):
        commits_in_order(commit, TABLES)
