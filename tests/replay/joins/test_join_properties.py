"""Spark joins two inputs as the reference does, on random streams that are dense enough for every edge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import AsOf, Emit, EmitKind, EndOfInput, ReplayOrder, Strategy, Watermark, Windows
from spark_jobs.replay.joins.as_of_join import as_of_join
from spark_jobs.replay.joins.interval_join import interval_join
from spark_jobs.replay.joins.window_join import window_join
from spark_jobs.replay.supported import WINDOW_JOIN_ACCUMULATIONS
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join, join_as_of
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.rows.instants import END_OF_INPUT, MAX, MIN, micros
from spark_jobs.semantics.streaming_job import operator
from spark_jobs.semantics.windows.lateness import Lateness
from tests.sampling import sampled
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.vectors.outcomes import millis
from tests.vectors.spark_joins import joining

pytestmark = pytest.mark.spark

ROWS, FEW, MANY = 120, 2, 60
PACE = (0, 100, 300, 300, 1000, 1000, 9000)
LABELS = ("p0", "p1")
EMISSIONS = (
    Emit(EmitKind.PER_EVENT),
    Emit(EmitKind.EVERY, interval_ms=3, phase_ms=1),
    Emit(EmitKind.EVERY, interval_ms=40),
    Emit(EmitKind.EVERY_N, n=1),
    Emit(EmitKind.EVERY_N, n=7),
)


# What closed forms unite: never idle, and rows that emit on both sides or on none.
JOIN_STRATEGIES = tuple(strategy for strategy in Strategy if strategy is not Strategy.CUSTOM)
WINDOW_JOIN_STRATEGIES = tuple(strategy for strategy in JOIN_STRATEGIES if strategy is not Strategy.TIME_LAG)


@dataclass(frozen=True)
class Stream:
    """Two inputs, with how their watermarks move; `right` is None where they are one source's."""

    rows: list[dict[str, Any]]
    left: JoinSource
    right: JoinSource | None
    emit: Emit

    @property
    def arrivals(self) -> list[Arrival]:
        """The rows as the reference takes them, in arrival order."""

        def position(row: dict[str, Any]) -> tuple[Any, ...]:
            side = row["side"] if self.right is not None else ""
            return (row["arrival_us"], side, row["partition"], row["index"])

        return [
            Arrival(Side(row["side"]), row["partition"], row["key"], row["ts"], row["arrival_us"], row)
            for row in sorted(self.rows, key=position)
        ]


def drawn_rows(
    draw: random.Random, spread: int, labels: tuple[str, ...] = LABELS, *, drawn_out: int = 1
) -> list[dict[str, Any]]:
    """Rows of few keys that happened a few milliseconds around their arrival; some arrive at one instant.

    Their arrivals are then `drawn_out` times as far from each other, so that they lie in several stretches.
    """
    clock, rows = draw.randrange(-50, 50) * 1000, []
    for index in range(ROWS):
        clock += draw.choice(PACE)
        rows.append(
            {
                "index": index,
                "side": draw.choice(["left", "right"]),
                "partition": draw.choice(labels),
                "key": draw.choice(["a", "b", None]),
                "ts": clock // 1000 + draw.randrange(-spread, 3),
                "arrival_us": clock * drawn_out,
                "marker": draw.random() < 0.3,
            }
        )
    draw.shuffle(rows)
    return rows


@st.composite
def sources(draw: st.DrawFn, strategies: Sequence[Strategy]) -> JoinSource:
    delay_ms = draw(st.integers(0, 4))
    declared = draw(st.sampled_from([(), LABELS, (*LABELS, "silent")]))
    watermarks = {
        Strategy.BOUNDED_OUT_OF_ORDERNESS: Watermark(out_of_orderness_ms=delay_ms),
        Strategy.PUNCTUATED: Watermark(Strategy.PUNCTUATED, when="marker"),
        Strategy.TIME_LAG: Watermark(Strategy.TIME_LAG, lag_ms=delay_ms),
    }
    strategy = draw(st.sampled_from(strategies))
    return JoinSource(watermarks.get(strategy, Watermark(strategy)), declared)


@st.composite
def streams(draw: st.DrawFn, strategies: Sequence[Strategy] = JOIN_STRATEGIES) -> Stream:
    seeded, spread = random.Random(draw(st.integers(0, 2**32))), draw(st.integers(1, 9))
    rows = drawn_rows(seeded, spread, drawn_out=draw(st.sampled_from([1, 100])))
    left, right = draw(sources(strategies)), draw(st.none() | sources(strategies))
    kinds = {source.watermark.strategy for source in (left, right) if source is not None}
    # Rows that emit beside ticks are drawn in `any_streams`.
    fitting = EMISSIONS[:1] if Strategy.PUNCTUATED in kinds and len(kinds) > 1 else EMISSIONS
    return Stream(rows, left, right, draw(st.sampled_from(fitting)))


@st.composite
def any_sources(draw: st.DrawFn, timeouts: Sequence[int | None]) -> JoinSource:
    """Sources of every strategy, among them classes of the user's."""
    source = draw(sources(tuple(Strategy)))
    changes: dict[str, Any] = {"idle_timeout_ms": draw(st.sampled_from(timeouts))}
    if source.watermark.strategy is Strategy.CUSTOM:
        generator = draw(st.sampled_from([("Bounded", {"bound_ms": 2}), ("Marked", {}), ("Moody", {"mood": 2})]))
        changes |= {"generator": f"tests.custom_watermarks:{generator[0]}", "arguments": generator[1]}
    return replace(source, watermark=replace(source.watermark, **changes))


@st.composite
def any_streams(draw: st.DrawFn, timeouts: Sequence[int | None]) -> Stream:
    """Streams of which a side or a partition falls silent now and then, under any watermarks."""
    seeded, spread = random.Random(draw(st.integers(0, 2**32))), draw(st.integers(1, 9))
    rows = with_silences(seeded, drawn_rows(seeded, spread, drawn_out=draw(st.sampled_from([1, 100]))))
    left, right = draw(any_sources(timeouts)), draw(st.none() | any_sources(timeouts))
    return Stream(rows, left, right, draw(st.sampled_from(EMISSIONS)))


def with_silences(draw: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    active_rows, silent = [], dict[tuple[str, str], int]()
    for place, row in enumerate(sorted(rows, key=lambda row: (row["arrival_us"], row["index"]))):
        level = draw.choice(["side", "partition"])
        if draw.random() < 0.1:
            silent[level, row[level]] = place + draw.choice([10, 30])
        if all(silent.get((of, row[of]), 0) <= place for of in ("side", "partition")):
            active_rows.append({**row, "mark": draw.choice([True, False, None]), "value": None})
    return active_rows[::-1]


def before(watermarks: list[tuple[int, int]], arrived: int) -> int:
    """The watermark before the row that makes it `arrived` rows."""
    return max((watermark for after, watermark in watermarks if after < arrived), default=MIN)


def check_interval_join(session: SparkSession, stream: Stream, bounds: JoinBounds) -> int:
    """Compare, and give the number of pairs that only the partner's expiry has prevented."""
    arrivals = stream.arrivals
    number = {arrival.row["index"]: place + 1 for place, arrival in enumerate(arrivals)}
    expected = join(arrivals, bounds, stream.emit, stream.left, stream.right)
    pipeline = joining(stream.left, stream.right, stream.emit)
    joined = interval_join(*inputs_of(session, stream.rows, pipeline), pipeline, bounds)
    pairs = [
        (p["left"]["index"], p["right"]["index"], millis(p["event_time"]), micros(p["fired_at"]))
        for p in rows_of(joined.pairs)
    ]
    expected_pairs = [
        (p.left["index"], p.right["index"], p.ts, arrivals[after - 1].clock_us) for after, p in expected.pairs
    ]
    assert sorted(pairs) == sorted(expected_pairs)
    for side, table in ((Side.LEFT, joined.late_left), (Side.RIGHT, joined.late_right)):
        behind = [arrival.row["index"] for arrival in expected.late if arrival.side is side]
        late = [(index, before(expected.watermarks, number[index])) for index in behind]
        assert sorted((row["index"], millis(row["watermark"])) for row in rows_of(table)) == sorted(late)
    on_time = [arrival for arrival in arrivals if arrival not in expected.late]
    sides = [[arrival for arrival in on_time if arrival.side is side] for side in Side]
    near = sum(a.key == b.key and bounds.joins(a.ts, b.ts) for a, b in product(*sides))
    return near - len(expected_pairs)


def check_window_join(session: SparkSession, stream: Stream, windows: Windows) -> None:
    arrivals = stream.arrivals
    co_group: CoGroup[str, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
    expected = gather(arrivals, co_group, stream.emit, stream.left, stream.right)
    pipeline = joining(stream.left, stream.right, stream.emit)
    joined = window_join(*inputs_of(session, stream.rows, pipeline), pipeline, windows)

    def firing(group: dict[str, Any]) -> tuple[Any, ...]:
        watermark = MAX if group["watermark"] == END_OF_INPUT else millis(group["watermark"])
        start, end = millis(group["window_start"]), millis(group["window_end"])
        return (str(group["key"]), start, end, group["pane_index"], group["timing"], watermark)

    def indices(rows: Any) -> tuple[int, ...]:
        return tuple(row["index"] for row in rows)

    expected_groups: list[tuple[Any, ...]] = sorted(
        (
            str(g.key),
            g.window.start,
            g.window.end,
            g.index,
            g.timing.value,
            g.watermark,
            *map(indices, (g.left, g.right)),
        )
        for _, g, _ in expected.groups
    )
    groups = rows_of(joined.groups)
    assert sorted((*firing(g), indices(g["left"]), indices(g["right"])) for g in groups) == expected_groups
    late_at = [(*firing(g)[:4], micros(g["fired_at"])) for g in groups if g["timing"] == "late"]
    assert sorted(late_at) == sorted(
        (str(g.key), g.window.start, g.window.end, g.index, arrivals[after - 1].clock_us)
        for after, g, _ in expected.groups
        if g.timing.value == "late"
    )
    pairs = sorted((*firing(p), p["left"]["index"], p["right"]["index"]) for p in rows_of(joined.pairs))
    assert pairs == sorted((*g[:6], *pair) for g in expected_groups for pair in product(*g[6:]))
    for side, table in ((Side.LEFT, joined.late_left), (Side.RIGHT, joined.late_right)):
        late = sorted((a.row["index"], watermark) for a, watermark, _ in expected.late if a.side is side)
        assert sorted((row["index"], millis(row["watermark"])) for row in rows_of(table)) == late
    counted: Counter[tuple[str, bool]] = Counter()
    for tally in rows_of(joined.accepted_rows):
        counted["left" if tally["side"] == 0 else "right", tally["is_late"]] += tally["row_count"]
    fates = [(a.side.value, fate) for a, _, fate in expected.judged if fate not in (None, Lateness.TOO_LATE)]
    assert +counted == Counter((side, fate is Lateness.LATE) for side, fate in fates)


def check_as_of_join(session: SparkSession, stream: Stream, kind: AsOf, *, closes: bool = True) -> int:
    """Compare, and return the number of late rows that were joined."""
    arrivals = stream.arrivals
    expected = join_as_of(arrivals, stream.emit, stream.left, stream.right, closes=closes)
    end = EndOfInput.CLOSE if closes else EndOfInput.KEEP_OPEN
    pipeline = replace(joining(stream.left, stream.right, stream.emit), replay=ReplayOrder(end_of_input=end))
    joined = as_of_join(*inputs_of(session, stream.rows, pipeline), pipeline, kind)
    versions = {each.match.left.row["index"]: each.match.right for each in expected.emitted}
    emitted = [
        (match.left.row["index"], None if match.right is None else match.right.row["index"], match.ts, clock_us)
        for _, match, clock_us, _ in expected.emitted
        if match.right is not None or kind is AsOf.LEFT_OUTER
    ]
    pairs = [
        (p["left"]["index"], p["right"] and p["right"]["index"], millis(p["event_time"]), micros(p["fired_at"]))
        for p in rows_of(joined.pairs)
    ]
    assert sorted(pairs, key=str) == sorted(emitted, key=str)
    for side, table in ((Side.LEFT, joined.late_left), (Side.RIGHT, joined.late_right)):
        late = [
            (a.row["index"], watermark, verdict(side, a.row["index"], versions))
            for a, watermark in expected.late
            if a.side is side
        ]
        late_rows = [(row["index"], millis(row["watermark"]), row["verdict"]) for row in rows_of(table)]
        assert sorted(late_rows) == sorted(late)
    late_indices = {a.row["index"] for a, _ in expected.late}
    counted = Counter(row["side"] for row in rows_of(joined.accepted_rows))
    on_time = Counter(list(Side).index(a.side) for a in arrivals if a.row["index"] not in late_indices)
    assert counted == on_time
    return sum(versions.get(index) is not None for index in late_indices)


def verdict(side: Side, index: int, versions: dict[int, Arrival | None]) -> str:
    if side is Side.RIGHT:
        return "kept"
    if index not in versions:
        return "waits"
    return "unmatched" if versions[index] is None else "joined"


distances = st.tuples(st.integers(-6, 6), st.integers(-6, 6)).map(sorted)
bounds_drawn = st.builds(
    lambda ends, low, high: JoinBounds(ends[0], ends[1], low, high), distances, st.booleans(), st.booleans()
)
windows_drawn = st.builds(
    lambda size, offset, lateness, accumulation: Windows(
        size_ms=size, offset_ms=offset % size, allowed_lateness_ms=lateness, accumulation=accumulation
    ),
    st.integers(1, 12),
    st.integers(0, 11),
    st.sampled_from([0, 1, 4, 30]),
    st.sampled_from(WINDOW_JOIN_ACCUMULATIONS),
)
any_windows = windows_drawn | st.builds(
    lambda windows, slide: replace(windows, kind="sliding", slide_ms=slide, offset_ms=windows.offset_ms % slide),
    windows_drawn,
    st.integers(1, 9),
)
any_windows |= st.builds(
    lambda windows, gap: replace(windows, kind="session", size_ms=0, offset_ms=0, gap_ms=gap),
    windows_drawn,
    st.integers(1, 9),
)
# Without shrinking, which would ask Spark hundreds of times.
few = settings(
    max_examples=FEW,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
many = settings(few, max_examples=MANY)


@seed(1)
@few
@given(stream=streams(), bounds=bounds_drawn)
def test_interval_join_is_the_reference_s(session: SparkSession, stream: Stream, bounds: JoinBounds) -> None:
    check_interval_join(session, stream, bounds)


@pytest.mark.soak
@seed(2)
@many
@given(stream=streams(), bounds=bounds_drawn)
def test_interval_join_is_the_reference_s_on_many(session: SparkSession, stream: Stream, bounds: JoinBounds) -> None:
    check_interval_join(session, stream, bounds)


@pytest.mark.judge
@pytest.mark.soak
@seed(3)
@few
@given(stream=streams(WINDOW_JOIN_STRATEGIES), windows=windows_drawn)
def test_window_join_is_the_reference_s(session: SparkSession, stream: Stream, windows: Windows) -> None:
    check_window_join(session, stream, windows)


@pytest.mark.soak
@seed(4)
@many
@given(stream=streams(WINDOW_JOIN_STRATEGIES), windows=windows_drawn)
def test_window_join_is_the_reference_s_on_many(session: SparkSession, stream: Stream, windows: Windows) -> None:
    check_window_join(session, stream, windows)


@pytest.mark.judge
@pytest.mark.soak
@seed(5)
@few
@given(stream=any_streams((None, 1, 3, 10)), bounds=bounds_drawn)
def test_interval_join_of_united_sources_is_the_reference_s(
    session: SparkSession, stream: Stream, bounds: JoinBounds
) -> None:
    check_interval_join(session, stream, bounds)


@pytest.mark.soak
@seed(6)
@many
@given(stream=any_streams((None, 1, 3, 10)), bounds=bounds_drawn)
def test_interval_join_of_united_sources_is_the_reference_s_on_many(
    session: SparkSession, stream: Stream, bounds: JoinBounds
) -> None:
    check_interval_join(session, stream, bounds)


@pytest.mark.soak
@seed(7)
@few
@given(stream=any_streams((None, 1, 3, 10)), windows=any_windows)
def test_window_join_of_united_sources_is_the_reference_s(
    session: SparkSession, stream: Stream, windows: Windows
) -> None:
    check_window_join(session, stream, windows)


@pytest.mark.soak
@seed(8)
@many
@given(stream=any_streams((None, 1, 3, 10)), windows=any_windows)
def test_window_join_of_united_sources_is_the_reference_s_on_many(
    session: SparkSession, stream: Stream, windows: Windows
) -> None:
    check_window_join(session, stream, windows)


@seed(9)
@few
@given(stream=streams(), kind=st.sampled_from(AsOf), closes=st.booleans())
def test_as_of_join_is_the_reference_s(session: SparkSession, stream: Stream, kind: AsOf, closes: bool) -> None:
    check_as_of_join(session, stream, kind, closes=closes)


@pytest.mark.soak
@seed(10)
@many
@given(stream=any_streams((None, 1, 3, 10)), kind=st.sampled_from(AsOf), closes=st.booleans())
def test_as_of_join_is_the_reference_s_on_many(session: SparkSession, stream: Stream, kind: AsOf, closes: bool) -> None:
    check_as_of_join(session, stream, kind, closes=closes)


def test_late_rows_join_versions_that_their_key_has_kept(session: SparkSession) -> None:
    source = JoinSource(Watermark(out_of_orderness_ms=1))
    stream = Stream(drawn_rows(random.Random(3), 9, LABELS[:1]), source, None, EMISSIONS[1])
    assert check_as_of_join(session, stream, AsOf.LEFT_OUTER) > 0


def test_exclusive_bounds_may_be_empty(session: SparkSession) -> None:
    source = JoinSource(Watermark(out_of_orderness_ms=4))
    stream = Stream(drawn_rows(random.Random(2), 4), source, source, EMISSIONS[1])
    bounds = JoinBounds(2, 2, lower_inclusive=False, upper_inclusive=False)
    assert check_interval_join(session, stream, bounds) == 0


@pytest.mark.parametrize("emit", [sampled(emit, quick=emit is EMISSIONS[0]) for emit in EMISSIONS[:2]])
@pytest.mark.parametrize(
    "ends", [sampled(ends, quick=ends[1] > 0, judges=True) for ends in [(-2, 2), (0, 0), (0, 3), (-3, 0)]]
)
def test_row_misses_a_partner_that_has_just_been_dropped(
    session: SparkSession, ends: tuple[int, int], emit: Emit
) -> None:
    source = JoinSource(Watermark(out_of_orderness_ms=1))
    stream = Stream(drawn_rows(random.Random(9), 4, LABELS[:1]), source, None, emit)
    assert check_interval_join(session, stream, JoinBounds(*ends)) > 0


def test_watermark_from_before_a_partition_joined_in_an_earlier_stretch_stays(session: SparkSession) -> None:
    moments = [("left", "p0", 100, 100_000), ("left", "p1", 95, 500_000), ("right", "p1", 88, 9_000_000)]
    rows = [
        {"index": index, "side": side, "partition": partition, "key": "a", "ts": ts, "arrival_us": arrival_us}
        for index, (side, partition, ts, arrival_us) in enumerate(moments)
    ]
    stream = Stream(rows, JoinSource(Watermark(out_of_orderness_ms=10)), None, EMISSIONS[0])
    assert check_interval_join(session, stream, JoinBounds(-90, 90)) == 0
