from __future__ import annotations

from collections.abc import Iterator

from tests.house import references
from tests.house.checkout import Place
from tests.house.conftest import Make

PAGE = """
# Semantics
<a id="rule-53"></a> A row between windows.
<a id="rule-54"></a> A row that is too late.
## B4
"""
SOURCE = '''
"""Late rows (rules 53, 54; semantics B4)."""
# Rule 53 decides.
x = "rule 99"
'''


def texts(places: Iterator[Place]) -> list[str]:
    return [f"{place.path}:{place.line} {place.text}" for place in places]


def test_rules_resolve_by_the_anchors_of_the_semantics_page(make: Make) -> None:
    files = {"spark_jobs/a.py": SOURCE, "README.md": "Rule 55 and semantics V3.\n\n    rule 1\n"}
    house = make(files | {references.SEMANTICS_PAGE: PAGE})
    assert texts(references.unresolved_rules(house)) == ["README.md:1 no rule-55", "README.md:1 no v3"]


def test_no_rule_resolves_without_the_page(make: Make) -> None:
    places = texts(references.unresolved_rules(make({"spark_jobs/a.py": SOURCE})))
    assert places == [
        "spark_jobs/a.py:2 no rule-53",
        "spark_jobs/a.py:2 no rule-54",
        "spark_jobs/a.py:2 no b4",
        "spark_jobs/a.py:3 no rule-53",
    ]


def test_a_range_resolves_by_the_numbers_that_are_written(make: Make) -> None:
    house = make({"README.md": "See rules 53-54. See rules 53-60.", references.SEMANTICS_PAGE: PAGE})
    assert texts(references.unresolved_rules(house)) == ["README.md:1 no rule-60"]


def test_a_mention_in_another_form_does_not_resolve(make: Make) -> None:
    source = '"""A law (B4)."""\n# Semantics page, B4, and rule 53a.\nx = B4\n'
    house = make({"spark_jobs/a.py": source, "README.md": "See `B4`.\n", references.SEMANTICS_PAGE: PAGE})
    assert texts(references.unresolved_rules(house)) == [
        "spark_jobs/a.py:1 B4 in another form",
        "spark_jobs/a.py:2 rule 53a in another form",
        "spark_jobs/a.py:2 B4 in another form",
    ]


def test_links_lead_to_files_and_to_their_anchors(make: Make) -> None:
    house = make({
        "docs/a.md": "[b](b.md) [c](c.md)\n[1](b.md#one-two) [2](b.md#two) [web](https://x.org/) [own](#no)\n",
        "docs/b.md": "# One two\n\n```\n[not a link](nowhere.md)\n```\n",
    })  # fmt: skip
    dead = ["docs/a.md:1 link to c.md", "docs/a.md:2 link to b.md#two", "docs/a.md:2 link to #no"]
    assert texts(references.dead_links(house)) == dead


def test_named_files_and_modules_exist(make: Make) -> None:
    house = make({
        "README.md": "`spark_jobs/a.py`, `spark_jobs/gone.py`, `spark_jobs/*.py`, `my/own.py`, `lake/a.html`\n",
        "spark_jobs/__init__.py": "",
        "spark_jobs/a.py": '"""See `spark_jobs.a.scan`, `spark_jobs.a.lost`, `spark_jobs.b`."""\ndef scan(): ...',
    })  # fmt: skip
    assert texts(references.missing_files(house)) == ["README.md:1 file spark_jobs/gone.py"]
    lost = ["spark_jobs/a.py:1 module spark_jobs.a.lost", "spark_jobs/a.py:1 module spark_jobs.b"]
    assert texts(references.missing_modules(house)) == lost
