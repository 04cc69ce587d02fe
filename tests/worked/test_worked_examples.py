"""The worked examples: a stream drawn row by row, with the watermark after each row and what happens then.

Read a drawing from top to bottom. Left of the first bar stands a row: its number, when it happened, and its key and
source partition where they matter; rows arrive in the order drawn. Then the watermark right after the row (`-`: none
yet). Then what happens there: panes that fire, with the numbers of the rows they hold, or that the row comes too late.
The last line is the end of the input. Windows `[a, b)` hold a and not b; times are seconds if nothing else is said.
"""

from __future__ import annotations

from functools import partial

import pytest

from spark_jobs.semantics import reference
from tests.spark.engine import spark_replay
from tests.worked.drawing import EVERY_HOUR, MILLISECOND, Engine, assert_happens


@pytest.fixture(params=["reference", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "reference":
        return reference.replay
    return partial(spark_replay, request.getfixturevalue("spark"))


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
