"""The life of the windows of one key where a repair has computed some of them: each window by the settings of its run.

Law: a repair accepts every row that had arrived for it, however late. Windows do not depend on each other. So the
verdicts and panes of a repaired window are those of a life in which late rows update it. All others are unchanged.
Sessions have no repair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.explain.life import ArrivedRow, Life, LifePane, life
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.spec import Windows
from spark_jobs.tables.repaired_windows import RepairedWindows


def repaired_life(
    rows: Sequence[ArrivedRow],
    clocks_us: Sequence[int | None],
    windows: Windows,
    end: int = MIN,
    *,
    repaired: RepairedWindows,
) -> Life:
    """Process rows as `life` does; `clocks_us` are their clocks of arrival, None for a row without one."""
    lived = life(rows, windows, end)
    starts = {verdict.window.start for verdicts in lived.verdicts.values() for verdict in verdicts}
    until = {start: repaired.until_us(start) for start in starts if repaired.contains(start)}
    if not until or windows.is_session:
        return lived
    for until_us in set(until.values()):
        of_repair = {start for start, its_us in until.items() if its_us == until_us}
        arrived = [row for row, us in zip(rows, clocks_us, strict=True) if until_us is None or (us or 0) < until_us]
        lived = _merged(lived, life(arrived, repaired.spec(windows, min(of_repair)), end), of_repair)
    return lived


def _merged(lived: Life, updated: Life, starts: set[int]) -> Life:
    """Return `lived` with what `updated` has of the windows that start at `starts`."""
    verdicts = dict(lived.verdicts)
    for number, mended in updated.verdicts.items():
        verdicts[number] = tuple(
            new if new.window.start in starts else old for old, new in zip(verdicts[number], mended, strict=True)
        )
    return Life(verdicts, list(_steps(lived, _panes_by_place(lived), _panes_by_place(updated), starts)))


def _steps(
    lived: Life,
    panes: Mapping[int | None, list[LifePane]],
    updated: Mapping[int | None, list[LifePane]],
    starts: set[int],
) -> Iterator[ArrivedRow | LifePane]:
    def between(place: int | None) -> Iterator[LifePane]:
        plain = (fired for fired in panes.get(place, ()) if fired.pane.window.start not in starts)
        mended = (fired for fired in updated.get(place, ()) if fired.pane.window.start in starts)
        return iter(sorted((*plain, *mended), key=_order))

    yield from between(None)
    for step in lived.steps:
        if isinstance(step, ArrivedRow):
            yield step
            yield from between(step.number)


def _panes_by_place(lived: Life) -> dict[int | None, list[LifePane]]:
    """Return the panes by the number of the row behind which they fired; None: before all rows."""
    panes: dict[int | None, list[LifePane]] = {}
    number = None
    for step in lived.steps:
        if isinstance(step, ArrivedRow):
            number = step.number
        else:
            panes.setdefault(number, []).append(step)
    return panes


def _order(fired: LifePane) -> tuple[bool, bool, int]:
    # First what the row fired, then the end of its epoch, then the advance.
    return fired.row is None, fired.fires_ms is not None, fired.fires_ms or 0
