"""The order of the commits of a publication: all tables are prepared, then the gate is committed, then the rest.

Preparing a table reads and writes files, and side by side it takes the time of the slowest. A table that cannot be
prepared fails before anything is committed. The commit of the gate decides between two processes, so it is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from spark_jobs.tables.lake import GATE_TABLE

#: Prepares a table, calls its second argument, commits the table, and returns the version.
Commit = Callable[[str, Callable[[], None]], int]


def commits_in_order(commit: Commit, tables: Iterable[str]) -> dict[str, int]:
    """Commit the tables, among them the gate, and return their versions; raises the error of the first that fails.

    A table that was committed before is not committed again, and awaits nothing.
    """
    order = _Order([table for table in tables if table != GATE_TABLE])
    with ThreadPoolExecutor(max_workers=len(order.prepared) + 1) as pool:
        gate = pool.submit(order.commit_gate, commit)
        rest = {table: pool.submit(order.commit, commit, table) for table in order.prepared}
        return {GATE_TABLE: gate.result(), **{table: version.result() for table, version in rest.items()}}


class _Order:
    """What the commits wait for: `prepared` by table, and the commit of the gate."""

    def __init__(self, tables: Iterable[str]) -> None:
        self.prepared: dict[str, Future[None]] = {table: Future() for table in tables}
        self._gate: Future[None] = Future()

    def commit_gate(self, commit: Commit) -> int:
        """Commit the gate once all other tables are prepared."""

        def await_rest() -> None:
            for prepared in self.prepared.values():
                prepared.result()

        with _settling(self._gate):
            return commit(GATE_TABLE, await_rest)

    def commit(self, commit: Commit, table: str) -> int:
        """Commit a table once the gate is committed."""
        prepared = self.prepared[table]

        def await_gate() -> None:
            # A second call is that of a second attempt.
            if not prepared.done():
                prepared.set_result(None)
            self._gate.result()

        with _settling(prepared):
            return commit(table, await_gate)


@contextmanager
def _settling(outcome: Future[None]) -> Iterator[None]:
    """Settle a future that is still open: by the error of the body, or without."""
    try:
        yield
    except BaseException as problem:
        if not outcome.done():
            outcome.set_exception(problem)
        raise
    if not outcome.done():
        outcome.set_result(None)
