"""Every verdict of an explanation has the sentence of its rule, and each rule is on the page of semantics."""

from __future__ import annotations

from pathlib import Path

from docs.rule_links import PAGE, anchors
from spark_jobs.explain.explanations import JOIN_RULES, LATE_BY_COUNT, RULES
from spark_jobs.inspection.rule_texts import RULE_TEXTS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_each_rule_has_a_sentence_and_a_place_on_the_page_of_semantics() -> None:
    assert set(RULE_TEXTS) == {*RULES.values(), LATE_BY_COUNT, *JOIN_RULES.values()}
    assert {f"rule-{number}" for number in RULE_TEXTS} <= anchors(DOCS / PAGE)
