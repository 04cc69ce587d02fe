"""Each example pipeline is a case: as tables of its rows, and as a drawing where inputs or marks matter."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from docs.generate.examples.folder import ROOT, Example, examples
from spark_jobs.cases.case_file import load
from spark_jobs.cases.engines import Engine, OnSpark, Reference
from spark_jobs.cases.running import CaseOutcome, outcomes
from tests.sampling import sampled

EXAMPLES = examples()
#: On Spark the joins, which have tables of their inputs: one of each kind.
ON_SPARK = {"window_join": True, "interval_join": False, "as_of_outer": False, "united_sources": False}


def table(file: Path, indent: int) -> list[str]:
    with file.open(encoding="utf-8") as text:
        return [" " * indent + " | ".join(cells) for cells in csv.reader(text)]


def case_of(example: Example) -> str:
    """Return a file of cases with the rows and results of an example."""
    lines = [f"pipeline: {example.folder / 'pipeline.yaml'}", "cases:", "  example:"]
    if example.pipeline.sources:
        lines.append("    rows:")
        for name, file in example.files.items():
            lines += [f"      {name}: |", *table(file, 8)]
    else:
        lines += ["    rows: |", *table(example.files[""], 6)]
    lines.append("    expect:")
    for name in (example.results, "late_events"):
        lines += [f"      {name}: |", *table(example.expected_file(name), 8)]
    return "\n".join(lines) + "\n"


def run(folder: Path, text: str, engine: Engine | None = None) -> CaseOutcome:
    file = folder / "example.test.yaml"
    file.write_text(text, encoding="utf-8")
    (outcome,) = outcomes(load(file), engine or Reference())
    return outcome


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_passes_as_a_case_and_fails_without_one_of_its_results(example: Example, tmp_path: Path) -> None:
    text = case_of(example)
    assert run(tmp_path, text).differences == []
    lines = text.splitlines()
    first = lines.index(f"      {example.results}: |") + 2
    without = run(tmp_path, "\n".join([*lines[:first], *lines[first + 1 :]]))
    assert [line[:1] for line in without.differences if line[:1] in "+-"] == ["+"]
    cells = lines[first].split(" | ")
    changed = " | ".join([*cells[:-1], "2024-05-01T10:00:59Z" if "Z" in cells[-1] else "99"])
    differing = run(tmp_path, "\n".join([*lines[:first], changed, *lines[first + 1 :]])).differences
    assert [line[:1] for line in differing if line[:1] in "+-"] == ["-", "+"]


@pytest.mark.spark
@pytest.mark.parametrize("name", [sampled(name, quick=quick, id=name) for name, quick in ON_SPARK.items()])
def test_an_example_passes_on_spark(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    engine = OnSpark(lambda: request.getfixturevalue("session"))
    assert run(tmp_path, case_of(EXAMPLES[name]), engine).differences == []


DRAWINGS = {
    "interval_join": """
      row     side  time  key | watermark | what happens
      0     orders    10    a |  -290.001 |
      1   payments  1210    a |   909.999 | 0 with 1 at 1210
      2   payments   300    a |   909.999 | too late
      3     orders  1300    b |   999.999 |
      4   payments  2501    b |  2200.999 |
      end                     |       max |
""",
    "window_join": """
      row     side  time  key | watermark | what happens
      0     orders    10    a |         - |
      1   payments   500    a |  -290.001 |
      2     orders  1200    a |   199.999 |
      3   payments  1100    a |   799.999 | a [0, 600) groups 0 with 1
      4   payments    20    a |   799.999 | a [0, 600) groups 0 with 1 4
      5     orders  1700    a |   799.999 |
      6   payments  1700    a |  1399.999 | a [600, 1200) groups none with 3
      7     orders    30    a |  1399.999 | too late
      end                     |       max | a [1200, 1800) groups 2 5 with 6
""",
    "session_join": """
      row        side  time  key | watermark | what happens
      0      searches    10    a |         - |
      1     purchases    70    a |  -290.001 |
      2      searches   900    a |  -230.001 |
      3     purchases   901    a |   599.999 | a [10, 310) groups 0 with 1
      end                        |       max | a [900, 1141) groups 2 with 3
""",
    "as_of_outer": """
      row    side  time  key | watermark | what happens
      0     rates    10    e |         - |
      1    orders    20    e |  -290.001 |
      2    orders    25    g |  -290.001 |
      3    orders   900    e |  -290.001 |
      4     rates   900    e |   599.999 | 1 with version 0
                             |           | 2 without version
      end                    |       max | 3 with version 4
""",
    "united_sources": """
      row    side  time | watermark | what happens
      0       web    10 |         - |
      1    phones    20 |  -580.001 |
      2       web   700 |  -580.001 |
      3    phones  1300 |   689.999 | [0, 600) fires with 0 1
      end               |       max | [600, 1200) fires with 2
                        |           | [1200, 1800) fires with 3
""",
    "punctuated": """
      row  kept  marker  time | watermark | what happens
      0     yes      no    10 |         - |
      1      no     yes   700 |       700 | [0, 600) fires with 0
      2     yes      no   650 |       700 |
      3     yes      no    20 |       700 | too late
      end                     |       max | [600, 1200) fires with 2
""",
}


def drawn(name: str, drawing: str) -> str:
    return f"pipeline: {ROOT / name}/pipeline.yaml\ncases:\n  drawn:\n    unit: s\n    drawing: |{drawing}"


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_beside_an_example_has_its_inputs_and_marks(name: str, tmp_path: Path) -> None:
    assert run(tmp_path, drawn(name, DRAWINGS[name])).differences == []
    header, *lines = DRAWINGS[name].strip("\n").splitlines()
    place = next(place for place, line in enumerate(lines) if line.rpartition("|")[2].strip())
    lines[place] = lines[place].rpartition("|")[0] + "|"
    differing = run(tmp_path, drawn(name, "\n".join(["", header, *lines, ""]))).differences
    assert differing
    assert all("replayed '" in line and line.endswith("', not drawn") for line in differing)


def test_the_side_of_a_row_names_an_input_of_the_pipeline(tmp_path: Path) -> None:
    text = drawn("interval_join", DRAWINGS["interval_join"])
    by_side = text.replace("  orders", "    left").replace("payments", "   right")
    assert run(tmp_path, by_side).differences == []
    with pytest.raises(ValueError, match="row 1: found the side 'refunds', expected orders or payments or left or"):
        run(tmp_path, text.replace("1   payments", "1    refunds"))


@pytest.mark.parametrize(
    ("name", "replaced", "message"),
    [
        ("offset_order", "", "replay.order: found offset, and the rows of a drawing have no offset; write the case"),
        ("punctuated", "value: other_at", "watermark.value: found other_at, and a marked row of a drawing carries its"),
    ],
)
def test_a_pipeline_that_cannot_be_drawn_is_named(name: str, replaced: str, message: str, tmp_path: Path) -> None:
    pipeline = (ROOT / name / "pipeline.yaml").read_text(encoding="utf-8")
    (tmp_path / "example.yaml").write_text(pipeline.replace("value: clicked_at", replaced or "value: clicked_at"))
    text = drawn(name, DRAWINGS["punctuated"]).replace(f"{ROOT / name}/pipeline.yaml", "example.yaml")
    with pytest.raises(ValueError, match=f"example.test.yaml: case 'drawn': drawing: {message}"):
        run(tmp_path, text)


def test_a_drawing_with_a_setting_that_its_pipeline_lacks_names_its_case(tmp_path: Path) -> None:
    text = drawn("tumbling", DRAWINGS["united_sources"].replace("side", "key"))
    with pytest.raises(ValueError, match=r"example.test.yaml: case 'drawn': drawing: .*windows.seize"):
        run(tmp_path, text.replace("    unit: s", "    unit: s\n    set: {windows.seize: 1 hour}"))
