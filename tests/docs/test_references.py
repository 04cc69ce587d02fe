"""Every reference to a rule, in code, tests and pages, leads to an anchor of the semantics page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.rule_links import PAGE, Reference, anchors, linked, other_forms, references

ROOT = Path(__file__).parents[2]
ANCHORS = anchors(ROOT / "docs" / PAGE)
FOLDERS = ("spark_jobs", "expectations", "plugins", "dags", "docker", "tests", "docs", "README.md")
ENDINGS = (".md", ".py", ".yaml", ".yml", ".toml", ".html", ".js", ".css", "Dockerfile")
# Texts in which sections stand alone: the page that defines them, and tests of the forms.
DEFINITIONS = (ROOT / "docs" / PAGE, ROOT / "tests" / "house" / "test_references.py")
CODE_BLOCK = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
# The numbers that the page leaves out.
UNUSED = {*range(7, 10), *range(45, 50), *range(56, 60), *range(73, 80), 89}


def places(text: str) -> Iterator[tuple[int, Reference]]:
    """Yield each reference of a text, with its line."""
    for reference in references(text):
        yield text.count("\n", 0, reference.start) + 1, reference


def unresolved(name: str, text: str) -> list[str]:
    return [
        f"{name}:{line}: the semantics page has no #{reference.anchor}"
        for line, reference in places(text)
        if reference.anchor not in ANCHORS
    ]


def in_other_forms(name: str, text: str) -> list[str]:
    prose = CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text) if name.endswith(".md") else text
    return [
        f"{name}:{prose.count(chr(10), 0, match.start()) + 1}: '{' '.join(match[0].split())}' refers to no rule: "
        "write rule N, rules N-M or semantics B4"
        for match in other_forms(prose)
    ]


def files() -> list[Path]:
    """Return the files of the project that are under version control, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = [ROOT / name for name in listed.stdout.splitlines() if name.endswith(ENDINGS)]
    return [file for file in names if file.is_file() and file != Path(__file__)]


def test_the_page_has_every_rule_and_section() -> None:
    rules = {f"rule-{number}" for number in range(1, 106) if number not in UNUSED}
    assert rules | {f"v{i}" for i in range(1, 8)} | {f"b{i}" for i in range(1, 9)} == ANCHORS


def test_every_reference_resolves() -> None:
    messages = [line for file in files() for line in unresolved(str(file.relative_to(ROOT)), file.read_text("utf-8"))]
    assert not messages, "\n".join(messages)


def test_every_reference_has_the_written_form() -> None:
    texts = [file for file in files() if file.suffix in (".md", ".py") and file not in DEFINITIONS]
    messages = [
        line for file in texts for line in in_other_forms(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))
    ]
    assert not messages, "\n".join(messages)


def test_another_form_is_reported_with_its_place() -> None:
    assert in_other_forms("page.md", "```\nB6\n```\nsee\nB7, or\nsemantics B4") == [
        "page.md:5: 'B7' refers to no rule: write rule N, rules N-M or semantics B4"
    ]


def test_references_exist_at_all() -> None:
    """A pattern that matches nothing would pass the test above."""
    all_references = [reference for file in files() for _, reference in places(file.read_text("utf-8"))]
    assert len(all_references) > 200


def test_an_unknown_rule_is_reported_with_its_place() -> None:
    assert unresolved("module.py", "a\nsee rule 89, and\nsemantics B9") == [
        "module.py:2: the semantics page has no #rule-89",
        "module.py:3: the semantics page has no #b9",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rule 53", ["rule-53"]),
        ("Rules 20-28, with all idle", ["rule-20", "rule-28"]),
        ("(rules 60, 69, 70)", ["rule-60", "rule-69", "rule-70"]),
        ("rules 64 and 68", ["rule-64", "rule-68"]),
        ("Rules 4,\n50-55, 60-65, 91.", ["rule-4", "rule-50", "rule-55", "rule-60", "rule-65", "rule-91"]),
        ("Rules 17, 19, 20", ["rule-17", "rule-19", "rule-20"]),
        ("rule 22, semantics V3", ["rule-22", "v3"]),
        ("rules 36 or 37 before\nsemantics V4", ["rule-36", "rule-37", "v4"]),
        ("Semantics B2, rule 98.", ["rule-98", "b2"]),
        ("semantics B4", ["b4"]),
        ("semantics B1, B4 and V3", ["b1", "b4", "v3"]),
        ("ruler 5, rule of 3", []),
        ("`B7`", []),
        ("docs/B7.md", []),
        ("page.md#V3", []),
        ("B70", []),
        ("V3-like", []),
        ("rule 5. 6 rows", ["rule-5"]),
    ],
)
def test_the_form_of_references(text: str, expected: list[str]) -> None:
    assert [reference.anchor for reference in references(text)] == expected
    assert not [match[0] for match in other_forms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(semantics page, B2)", ["B2"]),
        ("semantics page B4", ["B4"]),
        ("Page sections B1, B4.", ["B1", "B4"]),
        ("Page section B2.4, rule 98.", ["B2.4"]),
        ("semantics B2.4", ["B2.4"]),
        ("no other slice (B7).", ["B7"]),
        ("Law (B3):", ["B3"]),
        ("(22, after V3)", ["V3"]),
        ("(36, 37 before V4)", ["V4"]),
        ("semantics B1 with V3", ["V3"]),
        ("Rule 19a.", ["Rule 19a"]),
        ("rules 17, 19a, 20", ["rules 17, 19a"]),
        ("rule 19.2", ["rule 19.2"]),
        ("rules 53\u201354", ["rules 53\u201354"]),
        ("rule 53-54", ["rule 53-54"]),
    ],
)
def test_another_form_is_refused(text: str, expected: list[str]) -> None:
    assert [match[0] for match in other_forms(text)] == expected


def test_text_becomes_links_and_code_stays() -> None:
    html = '<h2>Rule 53</h2><p>By rule 53 and <code>rule 53</code>, <a href="x">rule 53</a>.<br />Rule 54</p>'
    assert linked(html, "s.html", ANCHORS) == (
        '<h2>Rule 53</h2><p>By rule <a class="tm-rule" href="s.html#rule-53">53</a> and <code>rule 53</code>, '
        '<a href="x">rule 53</a>.<br />Rule <a class="tm-rule" href="s.html#rule-54">54</a></p>'
    )


def test_a_page_with_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no #rule-89"):
        linked("<p>rule 89</p>", "s.html", ANCHORS)
