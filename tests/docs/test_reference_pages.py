"""The reference pages equal what the code makes of them, and leave nothing of the code out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docs.generate import commands, error_examples, errors, exit_codes, pipeline_file, settings
from docs.generate.__main__ import differences, main
from docs.generate.environment import readers
from docs.generate.markdown import slug
from docs.generate.pages import COMMAND, FILES, FOLDER, PAGES
from spark_jobs.cli import command, examples
from spark_jobs.cli.app import app
from spark_jobs.pipeline import PipelineError, from_mapping, meanings
from spark_jobs.pipeline.model import Learned, WindowKind
from spark_jobs.pipeline.published_tables import ALL
from tests.house.checkout import Checkout
from tests.house.references import dead_links

_ROOT = Path(__file__).parents[2]
_KEYS = {path: (record, entry) for path, record, entry in pipeline_file.every_key()}


def page(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_page_is_what_the_code_makes(name: str) -> None:
    lines = "".join(differences(FOLDER, name))
    assert not lines, f"page and code differ: run `{COMMAND}`\n{lines}"


@pytest.mark.parametrize("name", PAGES)
def test_page_begins_with_how_it_is_generated(name: str) -> None:
    assert COMMAND in page(name).splitlines()[0]


def test_check_fails_and_writes_nothing_if_a_page_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path)]) == 0
    assert main(["--check", "--folder", str(tmp_path)]) == 0
    changed = tmp_path / "reference" / "settings.md"
    changed.write_text(changed.read_text().replace("TIDEMARK_LAKE", "TIDEMARK_POND", 1))
    capsys.readouterr()
    assert main(["--check", "--folder", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert COMMAND in output.err
    assert "TIDEMARK_POND" in output.out
    assert "TIDEMARK_POND" in changed.read_text()


def test_a_page_of_a_code_that_does_not_exist_is_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path)]) == 0
    stale = tmp_path / "reference" / "errors" / "TM999.md"
    stale.write_text("", encoding="utf-8")
    assert main(["--check", "--folder", str(tmp_path)]) == 1
    assert "TM999" in capsys.readouterr().out
    assert main(["--folder", str(tmp_path)]) == 0
    assert not stale.exists()


@pytest.mark.parametrize("name", PAGES)
def test_anchors_of_a_page_are_unique(name: str) -> None:
    prose = re.sub(r"^```.*?^```", "", page(name), flags=re.MULTILINE | re.DOTALL)
    headings = [slug(text) for text in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)]
    anchors = headings + re.findall(r'<a id="([^"]+)"', page(name))
    assert sorted(anchors) == sorted(set(anchors))


def test_links_of_the_pages_resolve() -> None:
    dead = [str(place) for place in dead_links(Checkout(_ROOT)) if place.path.startswith("docs/")]
    assert not [line for line in dead if line.split(":")[0].removeprefix("docs/") in PAGES]


# The pipeline file.


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.;:]) ", text)


@pytest.mark.parametrize("path", _KEYS)
def test_key_has_a_meaning_of_short_sentences(path: str) -> None:
    _, entry = _KEYS[path]
    assert entry.meaning.endswith(".")
    assert all(len(sentence.split()) <= 25 for sentence in sentences_of(entry.meaning))


@pytest.mark.parametrize("path", _KEYS)
def test_page_has_an_anchor_for_each_key(path: str) -> None:
    name = pipeline_file.key_anchor(path)
    repeats = path.startswith("sources.watermark.") or path.count(".") > 1
    text = page("reference/pipeline_file.md")
    assert f'<a id="{name}">' in text or f"## `{path}`\n" in text or repeats


def enums_of_the_contract() -> Iterator[type[Enum]]:
    for path, (_, entry) in _KEYS.items():
        enum = pipeline_file.enum_of(path, entry.form)
        if enum is not None:
            yield enum


@pytest.mark.parametrize("enum", dict.fromkeys(enums_of_the_contract()), ids=lambda enum: enum.__name__)
def test_each_word_of_the_file_has_a_meaning(enum: type[Enum]) -> None:
    assert set(meanings.OF_MEMBERS[enum]) == set(enum)


def test_meanings_are_of_words_of_the_file() -> None:
    assert set(meanings.OF_MEMBERS) == set(enums_of_the_contract())


@pytest.mark.parametrize(("path", "enum"), [("windows.kind", WindowKind), ("quality.max_late_ratio", Learned)])
def test_key_accepts_the_words_that_the_page_names(path: str, enum: type[Enum]) -> None:
    _, entry = _KEYS[path]
    assert all(pipeline_file.reads_back(entry.form, str(member.value), member) for member in enum)


_SOURCE = {"table": "lake/clicks", "event_time": "at", "arrival_time": "stored_at"}
_WINDOWS: dict[str, Any] = {"size": "1 hour", "key": ["page"], "aggregates": {"clicks": "count(*)"}}
_FILE: dict[str, Any] = {"name": "clicks", "source": _SOURCE, "watermark": {"strategy": "none"}, "windows": _WINDOWS}
_JOIN = {**_FILE, "join": {"key": ["id"], "between": ["0s", "1 hour"], "second_when": "paid"}}
del _JOIN["windows"]

#: A file in which the key is required; the test takes the key away.
_FILES: dict[str, dict[str, Any]] = {
    "source": _FILE,
    "sources": {
        **_FILE,
        "source": None,
        "sources": [{"name": name, **_SOURCE, "watermark": {"strategy": "none"}} for name in ("web", "app")],
        "watermark": None,
    },
    "windows": _FILE,
    "source.arrival_time": _FILE,
    "source.offset": {**_FILE, "source": {**_SOURCE, "offset": "position"}, "replay": {"order": "offset"}},
    "watermark.out_of_orderness": {
        **_FILE,
        "watermark": {"strategy": "bounded_out_of_orderness", "out_of_orderness": "1s"},
    },
    "watermark.when": {**_FILE, "watermark": {"strategy": "punctuated", "when": "is_heartbeat"}},
    "watermark.lag": {**_FILE, "watermark": {"strategy": "time_lag", "lag": "5 minutes"}},
    "watermark.class": {**_FILE, "watermark": {"strategy": "custom", "class": "clicks.clocks:Clock"}},
    "watermark.emit.every": {**_FILE, "watermark": {"strategy": "monotonous", "emit": {"every": "1 minute"}}},
    "watermark.emit.every_n": {**_FILE, "watermark": {"strategy": "monotonous", "emit": {"every_n": 10}}},
    "join.between": _JOIN,
    "join.second_when": _JOIN,
    "windows.size": _FILE,
    "windows.slide": {**_FILE, "windows": {**_WINDOWS, "kind": "sliding", "slide": "15 minutes"}},
    "windows.gap": {
        **_FILE,
        "windows": {"kind": "session", "gap": "1 hour", "key": ["page"], "aggregates": {"n": "x"}},
    },
    "windows.key": _FILE,
    "windows.aggregates": _FILE,
    "windows.trigger.continuous": {**_FILE, "windows": {**_WINDOWS, "trigger": {"continuous": "5 minutes"}}},
    "windows.trigger.count": {**_FILE, "windows": {**_WINDOWS, "trigger": {"count": 10}}},
    "schedule.cron": {**_FILE, "schedule": {"cron": "@daily"}},
    "schedule.assets": {**_FILE, "schedule": {"assets": ["s3://clicks"]}},
    "schedule.start": {
        **_FILE,
        "replay": {"end_of_input": "keep_open"},
        "schedule": {"cron": "@daily", "start": "2026-01-01", "catchup": True},
    },
}


def without(mapping: dict[str, Any], path: str = "") -> dict[str, Any]:
    name, _, rest = path.partition(".")
    entries = {key: value for key, value in mapping.items() if value is not None and (key != name or rest)}
    return {**entries, name: without(entries[name], rest)} if rest else entries


def test_conditions_are_of_keys_of_the_file() -> None:
    assert set(_FILES) == set(pipeline_file.REQUIRED_WHEN) <= set(_KEYS)


@pytest.mark.parametrize("path", pipeline_file.REQUIRED_WHEN)
def test_key_is_required_on_its_condition(path: str) -> None:
    from_mapping(without(_FILES[path]), environ={})
    with pytest.raises(PipelineError) as caught:
        from_mapping(without(_FILES[path], path), environ={})
    name = path.rpartition(".")[2]
    assert any(name in problem.key or name in problem.message for problem in caught.value.problems)


# The commands.


def test_each_command_has_an_example() -> None:
    assert set(examples.EXAMPLES) == set(commands.commands())


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_example_of_a_command_is_parsed(name: str) -> None:
    words = shlex.split(examples.EXAMPLES[name])
    assert commands.commands()[name].make_context(name, words).params
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_targets_of_make_are_on_the_page() -> None:
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert set(commands.targets()) == set(phony.split())


# The tables.


def test_page_has_each_table_and_column() -> None:
    text = page("reference/tables.md")
    for table in ALL:
        assert f"\n## `{table.name}`\n" in text
        assert all(f'<a id="{table.name}-{column}">' in text for column in table.names)


# The errors.


def test_page_has_each_error_of_the_product() -> None:
    assert set(errors.classes()) == set(errors.ENTRIES) | set(errors.INTERNAL)
    assert not set(errors.ENTRIES) & set(errors.INTERNAL)


def test_command_and_step_end_with_the_same_exit_codes() -> None:
    command, step = exit_codes.code_of(exit_codes.COMMAND), exit_codes.code_of(exit_codes.STEP)
    # A step also has codes for a plan that is stale, which is wrong input, and for a result that cannot be written.
    assert step == {**command, "StaleError": command["InputError"], "LakeError": command["Exception"]}
    assert set(exit_codes.code_of().values()) == set(exit_codes.CODES) - {0}


@pytest.mark.parametrize("name", [name for name, entry in errors.ENTRIES.items() if entry.example])
def test_example_raises_the_error(name: str) -> None:
    example = errors.ENTRIES[name].example
    assert example is not None
    assert type(error_examples.raised(example)).__name__ == name


@pytest.mark.parametrize(
    "name",
    [name for name, e in errors.ENTRIES.items() if e.example and e.program == exit_codes.COMMAND and not e.shown_as],
)
def test_error_ends_the_command_with_its_exit_code(name: str) -> None:
    example = errors.ENTRIES[name].example
    assert example is not None
    with pytest.raises(SystemExit) as ended, command.answering(as_json=False):
        example()
    assert str(ended.value.code) == errors.exit_code(name)


@pytest.mark.parametrize("name", [name for name, entry in errors.ENTRIES.items() if entry.shown_as])
def test_jobs_replace_the_error(name: str) -> None:
    sources = (path.read_text(encoding="utf-8") for path in (_ROOT / "spark_jobs/jobs").rglob("*.py"))
    assert any(f"except {name} as" in source for source in sources)


# The settings.


def test_page_has_each_variable_that_the_product_reads() -> None:
    described = {**settings.TIDEMARK, **settings.HONOURED, **settings.INTERNAL}
    by_others = {name for name, setting in described.items() if setting.readers}
    assert set(readers()) == (set(described) - by_others) | set(settings.NOT_READ)


def test_variables_are_found_in_each_form() -> None:
    """A name that a module reads directly, by a constant, by an imported constant, in a loop, and in Compose."""
    assert "spark_jobs/session.py" in readers()["TIDEMARK_SPARK_MASTER"]
    assert "spark_jobs/runtime/environment.py" in readers()["TIDEMARK_DRIVER_MEMORY"]
    assert "plugins/tidemark_airflow/jobs/pool.py" in readers()["TIDEMARK_POOL"]
    assert "spark_jobs/jobs/audit/openlineage.py" in readers()["OPENLINEAGE_URL"]
    assert "docker/compose.yaml" in readers()["TIDEMARK_AIRFLOW_PORT"]
