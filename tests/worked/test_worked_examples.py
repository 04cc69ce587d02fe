"""The worked examples: a stream drawn row by row, with the watermark after each row and what happens then.

Read a drawing from top to bottom. Left of the first bar stands a row: its number, when it happened, and its key and
source partition where they matter; rows arrive in the order drawn. Then the watermark right after the row (`-`: none
yet). Then what happens there: panes that fire, with the numbers of the rows they hold, or that the row comes too late.
The last line is the end of the input. Windows `[a, b)` hold a and not b; times are seconds if nothing else is said.
"""

from __future__ import annotations

from functools import partial

import pytest

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy, Watermark
from spark_jobs.semantics import reference
from tests.spark.engine import spark_replay
from tests.worked.drawing import EVERY_HOUR, MILLISECOND, Engine, assert_happens


@pytest.fixture(params=["reference", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "reference":
        return reference.replay
    return partial(spark_replay, request.getfixturevalue("session"))


def test_three_second_windows(engine: Engine) -> None:
    """Windows of 3 s, bound 10 s. In order at first; row 7 is out of order, yet on time; row 10 is far too late."""
    drawing = """
        row  time | watermark | what happens
          0    22 |  11.999   |
          1    26 |  15.999   |
          2    32 |  21.999   |
          3    33 |  22.999   |
          4    34 |  23.999   | [21, 24) fires with 0
          5    36 |  25.999   |
          6    37 |  26.999   | [24, 27) fires with 1
          7    31 |  26.999   |
          8    41 |  30.999   |
          9    45 |  34.999   | [30, 33) fires with 2 7
         10     1 |  34.999   | too late
        end       |  max      | [33, 36) fires with 3 4
                  |           | [36, 39) fires with 5 6
                  |           | [39, 42) fires with 8
                  |           | [45, 48) fires with 9
    """
    assert_happens(engine, drawing, size=3, bound=10)


def test_three_second_windows_with_lateness(engine: Engine) -> None:
    """The same with 60 s of allowed lateness: row 10 fires a late pane of its own window."""
    drawing = """
        row  time | watermark | what happens
          0    22 |  11.999   |
          1    26 |  15.999   |
          2    32 |  21.999   |
          3    33 |  22.999   |
          4    34 |  23.999   | [21, 24) fires with 0
          5    36 |  25.999   |
          6    37 |  26.999   | [24, 27) fires with 1
          7    31 |  26.999   |
          8    41 |  30.999   |
          9    45 |  34.999   | [30, 33) fires with 2 7
         10     1 |  34.999   | [0, 3) fires late with 10
        end       |  max      | [33, 36) fires with 3 4
                  |           | [36, 39) fires with 5 6
                  |           | [39, 42) fires with 8
                  |           | [45, 48) fires with 9
    """
    assert_happens(engine, drawing, size=3, bound=10, allowed_lateness=60)


def test_bounded_input_closes_at_its_end(engine: Engine) -> None:
    """Windows of 1 s by user, bound 5 ms. All rows come before the first emission: everything fires at the end."""
    drawing = """
        row  key  time | watermark | what happens
          0  zs    1   |    -      |
          1  zs    1.1 |    -      |
          2  zs    1.2 |    -      |
          3  ls    1.2 |    -      |
          4  ls    2   |    -      |
          5  ww    4   |    -      |
          6  ww    6   |    -      |
          7  zl   10   |    -      |
        end            |   max     | ls [1, 2) fires with 3
                       |           | zs [1, 2) fires with 0 1 2
                       |           | ls [2, 3) fires with 4
                       |           | ww [4, 5) fires with 5
                       |           | ww [6, 7) fires with 6
                       |           | zl [10, 11) fires with 7
    """
    assert_happens(engine, drawing, size=1, bound=0.005, emit=EVERY_HOUR)


def test_one_key_for_all(engine: Engine) -> None:
    """The same rows without a key."""
    drawing = """
        row  time | watermark | what happens
          0   1   |    -      |
          1   1.1 |    -      |
          2   1.2 |    -      |
          3   1.2 |    -      |
          4   2   |    -      |
          5   4   |    -      |
          6   6   |    -      |
          7  10   |    -      |
        end       |   max     | [1, 2) fires with 0 1 2 3
                  |           | [2, 3) fires with 4
                  |           | [4, 5) fires with 5
                  |           | [6, 7) fires with 6
                  |           | [10, 11) fires with 7
    """
    assert_happens(engine, drawing, size=1, bound=0.005, emit=EVERY_HOUR)


def test_three_and_a_half_second_bound(engine: Engine) -> None:
    """Windows of 10 s, bound 3.5 s: the first window fires with the last row, and holds the first and the third."""
    drawing = """
        row  time | watermark | what happens
          0   8   |   4.499   |
          1  12.5 |   8.999   |
          2   9   |   8.999   |
          3  13.5 |   9.999   | [0, 10) fires with 0 2
        end       |   max     | [10, 20) fires with 1 3
    """
    assert_happens(engine, drawing, size=10, bound=3.5)


def test_four_partitions(engine: Engine) -> None:
    """Windows of 1 ms, four declared partitions in order: the slowest, a, leads; the fastest, c, moves nothing."""
    drawing = """
        row  partition  time | watermark | what happens
          0      a        3  |    -      |
          1      b        5  |    -      |
          2      c        7  |    -      |
          3      d        7  |    2      |
          4      a        4  |    3      | [3, 4) fires with 0
          5      b        8  |    3      |
          6      a        5  |    4      | [4, 5) fires with 4
          7      c        9  |    4      |
          8      a        7  |    6      | [5, 6) fires with 1 6
        end                  |   max     | [7, 8) fires with 2 3 8
                             |           | [8, 9) fires with 5
                             |           | [9, 10) fires with 7
    """
    assert_happens(engine, drawing, size=1, unit=MILLISECOND, declared=("a", "b", "c", "d"))


def test_a_silent_partition_is_left_behind(engine: Engine) -> None:
    """Windows of 5 ms, timeout 2 ms. b is silent from row 1 on and idle after row 4, at the first emission more than
    2 ms behind the one at row 1 that started its timer. When it speaks again, the watermark waits for it, and stands.
    """
    drawing = """
        row  partition  time | watermark | what happens
          0      b        1  |    0      |
          1      a        2  |    0      |
          2      a        7  |    0      |
          3      a        8  |    0      |
          4      a        9  |    8      | [0, 5) fires with 0 1
          5      a       12  |   11      | [5, 10) fires with 2 3 4
          6      b        3  |   11      | too late
          7      a       20  |   11      |
          8      b       21  |   19      | [10, 15) fires with 5
        end                  |   max     | [20, 25) fires with 7 8
    """
    silence = Watermark(Strategy.MONOTONOUS, idle_timeout_ms=2)
    assert_happens(engine, drawing, size=5, unit=MILLISECOND, watermark=silence)


def test_marked_rows_carry_the_watermark(engine: Engine) -> None:
    """Windows of 5 ms; a marked row says that nothing as old as itself will follow. It is on time itself."""
    drawing = """
        row  mark  time | watermark | what happens
          0   no     1  |    -      |
          1   no    12  |    -      |
          2   yes    4  |    4      | [0, 5) fires with 0 2
          3   no     3  |    4      | too late
          4   yes   11  |   11      |
          5   yes    8  |   11      | too late
          6   no    13  |   11      |
          7   yes   14  |   14      | [10, 15) fires with 1 4 6 7
        end             |   max     |
    """
    marked = Watermark(Strategy.PUNCTUATED, when="mark")
    assert_happens(engine, drawing, size=5, unit=MILLISECOND, watermark=marked)


def test_a_silent_partition_waits_for_its_next_mark(engine: Engine) -> None:
    """The same with a timeout of 2 ms: rows of b keep it from falling idle, but only its mark ends that it is."""
    drawing = """
        row  partition  mark  time | watermark | what happens
          0      b       yes    1  |    1      |
          1      a       yes    6  |    1      |
          2      a       yes    7  |    1      |
          3      a       no     8  |    1      |
          4      a       no     9  |    7      | [0, 5) fires with 0
          5      b       no    13  |    7      |
          6      a       yes   12  |   12      | [5, 10) fires with 1 2 3 4
          7      b       yes    9  |   12      | too late
          8      a       yes   15  |   12      |
          9      b       yes   16  |   15      | [10, 15) fires with 5 6
        end                        |   max     | [15, 20) fires with 8 9
    """
    marked = Watermark(Strategy.PUNCTUATED, when="mark", idle_timeout_ms=2)
    assert_happens(engine, drawing, size=5, unit=MILLISECOND, watermark=marked)


def test_a_time_lag_follows_the_clock(engine: Engine) -> None:
    """Windows of 2 ms, lag 3 ms. Row n arrives at n ms: the watermark goes on whatever the rows say."""
    drawing = """
        row  time | watermark | what happens
          0    9  |   -3      |
          1    1  |   -2      |
          2    0  |   -1      |
          3    2  |    0      |
          4    4  |    1      | [0, 2) fires with 1 2
          5    1  |    2      | too late
          6    3  |    3      | [2, 4) fires with 3 6
        end       |   max     | [4, 6) fires with 4
                  |           | [8, 10) fires with 0
    """
    assert_happens(engine, drawing, size=2, unit=MILLISECOND, watermark=Watermark(Strategy.TIME_LAG, lag_ms=3))


def test_a_time_lag_goes_on_while_no_row_comes(engine: Engine) -> None:
    """The same with an emission each millisecond, right before the row that arrives then."""
    drawing = """
        row  time | watermark | what happens
          0    9  |    -      |
          1    1  |   -2      |
          2    0  |   -1      |
          3    2  |    0      |
          4    4  |    1      | [0, 2) fires with 1 2
          5    1  |    2      | too late
          6    5  |    3      | [2, 4) fires with 3
        end       |   max     | [4, 6) fires with 4 6
                  |           | [8, 10) fires with 0
    """
    lagging = Watermark(Strategy.TIME_LAG, lag_ms=3, emit=Emit(EmitKind.EVERY, interval_ms=1))
    assert_happens(engine, drawing, size=2, unit=MILLISECOND, watermark=lagging)
