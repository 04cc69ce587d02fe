"""A recorded scenario that is drawn and read back is the same stream, the same pipeline and the same answer."""

from __future__ import annotations

import pytest

from spark_jobs.cases.drawing import read
from tests.vectors.show import CORPORA, Recording, chosen, main, recordings, text_of
from tests.worked import flink

RECORDED = list(recordings())
EVERY_50TH = RECORDED[::50]


def id_of(recording: Recording) -> str:
    return recording.id


@pytest.mark.parametrize("recording", EVERY_50TH, ids=id_of)
def test_a_drawing_is_read_back(recording: Recording) -> None:
    assert read(text_of(recording)) == flink.drawn(recording.declared, recording.answer)


def is_drawn_whole(recording: Recording) -> bool:
    """Return whether a drawing holds all of a scenario.

    A drawing does not hold the task of a partition without rows. A window join becomes the window that Flink runs.
    """
    declared = recording.declared
    has_window_join = "join" not in declared and any("side" in event for event in declared["events"])
    return recording.corpus not in ("cogroups", "subtasks") and not has_window_join


@pytest.mark.parametrize("recording", [*filter(is_drawn_whole, EVERY_50TH)], ids=id_of)
def test_a_drawing_is_the_recorded_scenario(recording: Recording) -> None:
    drawn = read(text_of(recording))
    assert flink.plain(flink.scenario(drawn)) == flink.plain(recording.declared)


def test_every_corpus_is_drawn() -> None:
    assert {recording.corpus for recording in EVERY_50TH} >= {*CORPORA} - {"worked"}
    assert {recording.corpus for recording in RECORDED} == {*CORPORA, "worked"}


def test_a_scenario_is_printed_with_flinks_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["s101-15"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("title: Recorded scenario s101-15\n")
    assert "watermark | what happens" in printed
    assert read(printed).rows


def test_ids_are_listed_by_kind_and_feature(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--kind", "session", "--feature", "idle", "--feature", "late"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(chosen(["session"], ["idle", "late"])) > 10
    assert all("session: " in line and " idle" in line and " late" in line for line in listed)


def test_an_unknown_id_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["s0-0"]) == 1
    assert "no recorded scenario: s0-0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([])
