from __future__ import annotations

import pytest

from tests.house import words
from tests.house.banned import bans, hits_in_name, hits_in_text
from tests.house.conftest import Make
from tests.house.names import Name
from tests.house.texts import Text

BANNED = [
    ("Each partition is told the tick.", "told"),
    ("What the table tells.", "tells"),
    ("Rows that are\ntold apart.", "told"),
    ("As the file says.", "says"),
    ("Nothing is asked of the lake.", "asked"),
    ("A partition that speaks late.", "speaks"),
    ("The session was swallowed.", "swallowed"),
    ("Whoever needs it.", "Whoever"),
    ("A task of its own.", "of its own"),
    ("A task of its\nown.", "of its own"),
    ("A name of yours.", "of yours"),
    ("The file is not there.", "there"),
    ("It stays there for a day.", "there"),
    ("There, too, a run is held up.", "There"),
]
ALLOWED = [
    "There is no window.",
    "There may be late rows.",
    "Fail where there are none.",
    "If there\nis a table, read it.",
    "Is there a calendar?",
    "There never was a row.",
    "Therefore it is late.",
    "In Airflow a person is asked first.",
    "The key `ask` asks the operator.",
    "With `told` or `it says so` in code.",
    "Set `ask` to true.",
    "Its own watermark moves.",
    "A hearsay.",
]


@pytest.mark.parametrize(("text", "word"), BANNED)
def test_a_text_has_a_banned_word(text: str, word: str) -> None:
    assert [hit.word for hit in hits_in_text(Text("a.py", "docstring", 1, text))] == [word]


@pytest.mark.parametrize("text", ALLOWED)
def test_a_text_has_no_banned_word(text: str) -> None:
    assert list(hits_in_text(Text("a.py", "docstring", 1, text))) == []


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("told", "variable"),
        ("test_every_table_is_told", "function"),
        ("airflow_says", "module"),
        ("ToldRows", "class"),
        ("found", "variable"),
        ("_kept", "function"),
        ("where", "variable"),
        ("where", "function"),
        ("given", "keyword"),
        ("told", "keyword"),
    ],
)
def test_a_name_is_banned(name: str, role: str) -> None:
    assert len(list(hits_in_name(Name(1, name, role)))) == 1


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("where", "field"),
        ("where", "keyword"),
        ("other", "variable"),
        ("left", "variable"),
        ("bound", "variable"),
        ("found_rows", "variable"),
        ("DONE", "variable"),
        ("essays", "variable"),
        ("on_failure_ask", "variable"),
    ],
)
def test_a_name_is_allowed(name: str, role: str) -> None:
    assert list(hits_in_name(Name(1, name, role))) == []


def test_only_a_keyword_of_a_public_function_has_the_name_of_a_key(make: Make) -> None:
    house = make({
        "spark_jobs/a.py": """
            def replay(rows, *, where): ...
            def _replay(rows, *, where): ...
            def read(where): ...
            async def load(*, where):
                where = 1
        """,
    })  # fmt: skip
    assert [(place.line, place.text) for place in words.in_names(house)] == [(3, "where"), (4, "where"), (6, "where")]


def test_variables_of_templates_are_names(make: Make) -> None:
    house = make({
        "spark_jobs/templates/page.html": """
            {% for one in checks %}{{ one.suite }}{% endfor %}
            {% set shown = checks[0] %}
            {% macro row(told) %}{{ told }}{% endmacro %}
            <p>None of these checks is one that was found.</p>
        """,
        "tests/page.html": "{% for one in checks %}{% endfor %}",
    })  # fmt: skip
    places = [(place.line, place.text) for place in words.in_names(house)]
    assert places == [(2, "one"), (3, "shown"), (4, "told")]


def test_each_banned_word_has_a_reason_and_a_replacement() -> None:
    assert all(ban.why and ban.instead and (ban.pattern or ban.name_pattern) for ban in bans())


SOURCE = '''
"""What rows say."""
import ledger as told


class Source:
    """Where rows are."""

    where: str = ""  # asked


def rows(found: int) -> str:
    """Return what the file tells."""
    log.info("it says that all rows are read")
    state = "asks"
    rows.where("told")
    raise ReadError(f"{found}: asked for a row that is not there")
'''


def test_words_count_by_kind_of_place(make: Make) -> None:
    house = make({"spark_jobs/jobs/a.py": SOURCE, "tests/test_b.py": SOURCE, "README.md": "It says:\n\n    told\n"})
    product = "spark_jobs/jobs/a.py"
    assert [(place.line, place.text) for place in words.in_names(house)] == [(3, "told"), (12, "found")]
    docstrings = [(place.path, place.line, place.text) for place in words.in_texts("docstring")(house)]
    assert docstrings == [(product, 2, "say"), (product, 13, "tells")]
    assert [(place.line, place.text) for place in words.in_texts("comment")(house)] == [(9, "asked")]
    assert [place.text for place in words.in_texts("log")(house)] == ["says"]
    assert [place.text for place in words.in_texts("error")(house)] == ["asked", "there"]
    assert list(words.in_texts("text")(house)) == []
    assert [place.text for place in words.in_test_names(house)] == ["told", "found"]
    assert [place.text for place in words.in_test_texts(house)] == ["say", "tells", "asked"]
    assert [(place.path, place.text) for place in words.in_documents(house)] == [("README.md", "says")]
    assert {place.group for place in words.in_names(house)} == {"spark_jobs.jobs"}
