"""The meaning of each reason is that of the page of late rows."""

from __future__ import annotations

import re
from pathlib import Path

from spark_jobs.inspection.reason_texts import meaning
from spark_jobs.semantics.rows.event_time import REASONS

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/topics/late_rows.md"


def test_each_reason_means_what_the_page_states() -> None:
    stated = dict(re.findall(r"^\| `((?:event_time|offset)_\w+)` \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert set(stated) == {reason for reason in REASONS if not reason.startswith("arrival_time")}
    assert {reason: meaning(reason) for reason in stated} == stated
    for reason in REASONS - set(stated):
        of_event = meaning(reason.replace("arrival_time", "event_time"))
        assert meaning(reason) == of_event.replace("event time", "arrival time")


def test_another_reason_is_the_name_of_a_rule() -> None:
    assert meaning("price_is_positive") == "it breaks the rule of this name"
