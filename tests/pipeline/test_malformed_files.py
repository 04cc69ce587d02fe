"""1,500 malformed files: each is refused in one clear text, soon, in little memory, and before Spark starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.pipeline import PipelineError, load, parse
from spark_jobs.pipeline.errors import MOST_PROBLEMS
from tests.support import refused_files
from tests.support.malformed_files import VALID_FILES

SEED, NUMBER, REFUSED = 20261125, 1_700, 1_500
LONGEST_S, MOST_MB, LONGEST_TEXT = 5, 200, 50_000


@pytest.fixture(name="outcomes", scope="module")
def _outcomes() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", refused_files.__name__, str(SEED), str(NUMBER)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(name="refused")
def _refused(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [outcome for outcome in outcomes if outcome.get("refusal") is not None]


def test_the_number_of_refused_files_is_as_promised(refused: list[dict[str, Any]]) -> None:
    assert len(refused) >= REFUSED


def test_each_is_read_soon_and_in_little_memory(outcomes: list[dict[str, Any]]) -> None:
    files = [outcome for outcome in outcomes if "seconds" in outcome]
    peak = next(outcome for outcome in outcomes if "peak_mb" in outcome)
    assert len(files) == NUMBER
    assert not [(file["name"], file["seconds"]) for file in files if file["seconds"] > LONGEST_S]
    assert peak["peak_mb"] < MOST_MB


def test_each_text_can_be_shown(refused: list[dict[str, Any]]) -> None:
    for outcome in refused:
        text = outcome["refusal"]
        assert text.replace("\n", "").isprintable(), outcome["name"]
        assert len(text.encode("utf-8")) < LONGEST_TEXT, outcome["name"]
        assert "pipeline.yaml" in text.splitlines()[0], outcome["name"]
        assert 1 <= outcome["problems"] <= MOST_PROBLEMS, outcome["name"]


def test_the_command_ends_with_the_text_and_exit_code_2(
    outcomes: list[dict[str, Any]], refused: list[dict[str, Any]]
) -> None:
    ended = [outcome for outcome in outcomes if "exit_code" in outcome]
    assert [outcome["name"] for outcome in ended] == [outcome["name"] for outcome in refused[:: refused_files.EVERY]]
    for outcome in ended:
        assert outcome["exit_code"] == 2, outcome["name"]
        assert "Traceback" not in outcome["output"], outcome["name"]
        assert "pipeline.yaml" in outcome["output"], outcome["name"]


@pytest.mark.parametrize("text", VALID_FILES, ids=lambda text: text.split()[1])
def test_the_files_that_faults_are_made_in_are_valid(text: str) -> None:
    parse(text, environ={})


def test_the_problems_of_a_file_end_with_a_number(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("name: many\n" + "".join(f"unknown_{number}: 1\n" for number in range(3 * MOST_PROBLEMS)))
    with pytest.raises(PipelineError, match="100 problems, and the rest of the file is not checked") as caught:
        load(file)
    assert len(caught.value.problems) == MOST_PROBLEMS
    assert "unknown_98" in str(caught.value)


def test_half_a_character_and_a_control_character_are_shown_as_escapes() -> None:
    with pytest.raises(PipelineError, match=r"found half a character in 'x\\ud800'; write the whole character"):
        parse('name: "x\\ud800"\n')
    with pytest.raises(PipelineError, match=r"found half a character in the key 'x\\ud800'"):
        parse('"x\\ud800": 1\n')
    with pytest.raises(PipelineError, match=r"found '\\x1b\[2Jx', expected a name"):
        parse('name: "\\e[2Jx"\n')


def test_a_list_of_sources_with_one_name_several_times_is_refused() -> None:
    source = "{name: doors, table: /doors, event_time: at}"
    text = f"name: united\nsources: [{source}, {source}, {source.replace('doors', 'lamps')}]\n"
    with pytest.raises(PipelineError, match="found the name 'doors' for the second time"):
        parse(text)


def test_a_list_without_sources_is_refused() -> None:
    with pytest.raises(PipelineError, match="sources: found no source, expected two or more; add them"):
        parse("name: united\nsources: []\n")


@pytest.mark.parametrize("zone", ["+18:30", "-18:01", "+19:00"])
def test_an_offset_of_more_than_18_hours_is_refused(zone: str) -> None:
    text = VALID_FILES[0].replace(
        "event_time: happened_at", f"event_time: {{column: t, format: y, timezone: '{zone}'}}"
    )
    with pytest.raises(PipelineError, match="expected a time zone"):
        parse(text)


def test_a_number_above_64_bits_is_refused() -> None:
    text = VALID_FILES[5].replace("rows_per_round: 100", f"rows_per_round: {2**63}")
    with pytest.raises(PipelineError, match="at most 9,223,372,036,854,775,807 is possible"):
        parse(text)
