"""A drawing that cannot be read is refused in words of a drawing."""

from __future__ import annotations

import pytest

from spark_jobs.cases.drawing import DrawingError, of_text, read

HEADER = "row time | watermark | what happens\n"
END = "end | max |"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found the header .*; write 'row time COLUMNS"),
        (f"row key | watermark | what happens\n0 a | 1 |\n{END}", "found the header .*; write 'row time COLUMNS"),
        (f"row time time | watermark | what happens\n{END}", "found the header"),
        (HEADER + f"  | | too late\n{END}", r"the line '\|  \| too late' continues no step; begin with a row, tick or"),
        (HEADER + f"0 1 | 0 |\n  | 5 | too late\n{END}", r"the line '\| 5 \| too late' is no row, tick or end"),
        (HEADER + f"0 1 | 0 |\n  | |\n{END}", "is no row, tick or end"),
        (HEADER + "0 1 | 0 |", "found no line 'end'; the last step of a drawing is the end of the input"),
        (HEADER + f"{END}\n0 1 | 0 |", "lines stand behind the end of the input"),
        (HEADER + f"{END}\n{END}", "lines stand behind the end of the input"),
        (HEADER + f"0 | 0 |\n{END}", "found 1 values in '0', expected 2: row time"),
        (HEADER + f"0 1 2 | 0 |\n{END}", "found 3 values in '0 1 2', expected 2: row time"),
        (HEADER + f"0 max | 0 |\n{END}", "row 0: found 'max', which a watermark alone can be; write the time in s"),
        (
            f"row time marker | watermark | what happens\n0 1 maybe | 0 |\n{END}",
            "row 0: found marker 'maybe', expected",
        ),
        (f"row time task | watermark | what happens\n0 1 x | 0 |\n{END}", "row 0: found task 'x', expected a number"),
    ],
)
def test_a_drawing_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(DrawingError, match=message):
        of_text("drawn", text, "s", {}, {})


FILE = "title: t\nconcept: c\nanswer: flink\nunit: ms\npipeline: {windows: {size: 10 ms}}\ndrawing: |\n"
LINES = "  row  time | watermark | what happens\n  end       |       max |\n"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("unit: ms\n", "unit: ms\nunit: s\n", "example: line 5: unit: stands twice, first in line 4; keep one"),
        ("unit: ms", "unit: [ms]", "example: found unit"),
        ("pipeline: {windows: {size: 10 ms}}", "pipeline: 3", "example: pipeline: found 3, expected a mapping"),
        ("unit: ms", "unit: ms\nrules: 3", "example: rules: found 3, expected a list"),
    ],
)
def test_a_file_of_a_drawing_that_cannot_be_read_is_refused(before: str, after: str, message: str) -> None:
    assert read(FILE + LINES, "example").unit == "ms"
    with pytest.raises(DrawingError, match=message):
        read((FILE + LINES).replace(before, after), "example")
