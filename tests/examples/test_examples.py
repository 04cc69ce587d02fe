"""Each example of `docs/examples` has the results that its folder contains, by the reference and on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from docs.examples import land
from docs.generate.examples.answers import ACCEPTED, FILTERED, LATE, ON_TIME, TOO_LATE, of_reference
from docs.generate.examples.folder import Example, csv_text, examples
from docs.generate.examples.pages import GROUPS
from docs.generate.examples.picture import draw
from spark_jobs.pipeline.model import AsOf, Order, Pipeline, Strategy, TriggerKind, WindowKind
from tests.examples.engines import of_spark
from tests.sampling import sampled

EXAMPLES = examples()
NAMES = list(EXAMPLES)


@pytest.fixture(name="example", params=NAMES)
def _example(request: pytest.FixtureRequest) -> Example:
    return EXAMPLES[request.param]


def test_the_reference_computes_the_example(example: Example) -> None:
    answer = of_reference(example)
    for table, rows in ((example.results, answer.results), ("late_events", answer.late_events)):
        assert csv_text(rows, example.columns[table]) == example.expected(table)


# A fifth in `make test`: one folder after the other, by name.
@pytest.mark.spark
@pytest.mark.parametrize("name", [sampled(name, quick=NAMES.index(name) % 5 == 1, id=name) for name in NAMES])
def test_spark_computes_the_example(session: SparkSession, name: str) -> None:
    example = EXAMPLES[name]
    for table, rows in of_spark(session, example).items():
        computed, expected = csv_text(rows, example.columns[table]), example.expected(table)
        assert sorted(computed.splitlines()) == sorted(expected.splitlines())


def test_an_example_is_small_and_named_for_its_folder(example: Example) -> None:
    assert example.pipeline.name == example.name
    assert example.title
    assert example.note.endswith(".")
    assert 8 <= len(example.rows) <= 30


def value(group: str, pipeline: Pipeline) -> object:
    """Return the value of the key that the group is about."""
    return {
        "windows": pipeline.windows.kind,
        "joins": pipeline.windows.kind,
        "as_of": pipeline.join.as_of if pipeline.join else None,
        "watermarks": pipeline.watermark.strategy,
        "triggers": pipeline.windows.trigger.kind,
        "sources": pipeline.replay.order,
    }[group]


@pytest.mark.parametrize("group", GROUPS)
def test_an_example_has_the_value_that_it_is_about(group: str) -> None:
    for point, name in GROUPS[group].points.items():
        pipeline = EXAMPLES[name].pipeline
        assert value(group, pipeline) is point
        assert (pipeline.join is not None) is (group in ("joins", "as_of"))


@pytest.mark.parametrize(
    ("group", "values"),
    [
        ("windows", set(WindowKind) - {WindowKind.NONE}),
        ("joins", set(WindowKind)),
        ("as_of", set(AsOf)),
        ("watermarks", set(Strategy)),
        ("triggers", set(TriggerKind)),
        ("sources", {Order.ARRIVAL, Order.OFFSET}),
    ],
)
def test_each_value_has_an_example(group: str, values: set[object]) -> None:
    assert set(GROUPS[group].points) == values


def test_each_folder_is_on_a_page() -> None:
    on_pages = [name for group in GROUPS.values() for name in group.points.values()]
    assert sorted(on_pages) == NAMES


@pytest.mark.parametrize("outcome", [ON_TIME, LATE, TOO_LATE, ACCEPTED, FILTERED])
def test_each_fate_of_a_row_is_shown(outcome: str) -> None:
    assert any(judged.outcome == outcome for example in EXAMPLES.values() for judged in of_reference(example).judged)


def test_a_picture_has_each_row_and_each_firing(example: Example) -> None:
    answer, picture = of_reference(example), draw(example)
    legend_signs = picture.count('too-late cross"') > 0
    crosses = sum(judged.outcome == TOO_LATE for judged in answer.judged)
    assert picture.count('too-late cross"') == 2 * (crosses + legend_signs)
    diamonds = sum(judged.outcome == LATE for judged in answer.judged)
    assert picture.count('"late mark"') == diamonds + (diamonds > 0)
    firings = {(row["window_end"], row["fired_at"], row["timing"]) for row in answer.results if "timing" in row}
    assert picture.count(' pane"') == len(firings) + len({timing for *_, timing in firings})


def test_the_program_writes_the_tables_of_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        land.main(["window_join", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[:2] == [f"wrote {tmp_path / name}" for name in ("orders", "payments")]
    rows = DeltaTable(tmp_path / "payments").to_pyarrow_table().to_pylist()
    assert rows == EXAMPLES["window_join"].tables["payments"]


def test_the_program_lists_the_examples_if_it_does_not_know_one() -> None:
    with pytest.raises(SystemExit, match=r"found tumblin, expected an example: as_of_inner, .*tumbling"):
        land.main(["tumblin"])


def test_a_column_without_a_type_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("click_id,amount,price\n1,2,3\n")
    with pytest.raises(ValueError, match="no declared type of amount, price; add it to TYPES"):
        land.read(tmp_path / "events.csv")
