"""The page of the pipeline file: every key of the contract with its form, default, requirement and meaning."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from docs.generate.markdown import anchor, block, code, link, slug, table
from spark_jobs.pipeline import meanings
from spark_jobs.pipeline.contract import PIPELINE
from spark_jobs.pipeline.document import join
from spark_jobs.pipeline.durations import format_duration, parse_duration
from spark_jobs.pipeline.errors import Place, Problems
from spark_jobs.pipeline.forms import Form, Leaf
from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Learned,
    SourcePartition,
    Trigger,
    TriggerKind,
    WindowKind,
)
from spark_jobs.pipeline.reader import Reader
from spark_jobs.pipeline.records import Either, Field, ListOf, Record
from spark_jobs.pipeline.review import Review

_ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = _ROOT / "dags/pipelines/departures_by_carrier.yaml"

#: When a key is required that the contract alone does not require. The rules of the file decide it.
REQUIRED_WHEN: Mapping[str, str] = {
    "source": "the file has no `sources`",
    "sources": "the file has no `source`",
    "windows": "the file has no `join`",
    "source.arrival_time": "the order is `arrival`",
    "source.offset": "the order is `offset`",
    "watermark.out_of_orderness": "the strategy is `bounded_out_of_orderness`",
    "watermark.when": "the strategy is `punctuated`",
    "watermark.lag": "the strategy is `time_lag`",
    "watermark.class": "the strategy is `custom`",
    "watermark.emit.every": "`every_n` is missing",
    "watermark.emit.every_n": "`every` is missing",
    "join.between": "the join has no windows",
    "join.second_when": "the file has no `sources`",
    "windows.size": "the kind is `tumbling` or `sliding`",
    "windows.slide": "the kind is `sliding`",
    "windows.gap": "the kind is `session`",
    "windows.key": "the file has no `join`",
    "windows.aggregates": "the file has no `join`",
    "windows.trigger.continuous": "`count` is missing",
    "windows.trigger.count": "`continuous` is missing",
    "schedule.cron": "`assets` is missing",
    "schedule.assets": "`cron` is missing",
    "schedule.start": "`catchup` is true",
}
#: Enums of words that another form than a choice accepts.
WORDS_AT: Mapping[str, type[Enum]] = {
    "watermark.emit": EmitKind,
    "windows.kind": WindowKind,
    "windows.trigger": TriggerKind,
    "quality.max_late_ratio": Learned,
    "quality.max_too_late_ratio": Learned,
    "quality.max_invalid_ratio": Learned,
}
#: Parts of a form's description that are YAML or SQL.
_EXAMPLES = re.compile(r"""\[?\{[^}]*\}\]?|\[[^\]]*\]|"[^"]*"|(?<!\w)'[^']*'(?!\w)""")
_DURATIONS = ("500 ms", "10 s", "5 minutes", "1h 30m", "2 days", "1 week", "PT6H")
_INTRODUCTION = """\
A pipeline is one YAML file. `tidemark check FILE` validates it. An unknown key, a wrong unit and a contradiction are
errors with the file, the line and the key. `check` finds mistakes of the file before it starts Spark. No schema for
editors is published, because a schema cannot express the rules between keys. The tables below show a default as the
file would write it.

- `${NAME}` in a text value is the environment variable `NAME`.
- `${NAME:-text}` is `text` if the variable is unset or empty.
- `$${` is a literal `${`.
- `--set KEY=VALUE` overrides one setting for one command. The key is dotted, as in `windows.size`.
"""


@dataclass
class _Progress:
    """What the page has described so far: fields by path and row, the section of each mapping, and enums."""

    paths: dict[int, str] = field(default_factory=dict)
    rows: dict[int, list[str]] = field(default_factory=dict)
    homes: dict[int, str] = field(default_factory=dict)
    enums: set[type[Enum]] = field(default_factory=set)


def page() -> str:
    """Return the page."""
    parts = ["# The pipeline file\n", _INTRODUCTION, "## Example\n", block(EXAMPLE.read_text(), "yaml")]
    parts += ["## Durations\n", "A duration is a number and a unit. It is a whole number of milliseconds.\n"]
    parts.append(table(("written", "milliseconds"), ((code(d), f"{parse_duration(d):,}") for d in _DURATIONS)))
    parts += _section(PIPELINE, "", _Progress())
    return "\n".join(parts)


def every_key(form: Form = PIPELINE, path: str = "") -> Iterator[tuple[str, Record, Field]]:
    """Yield the dotted path, the record and the field of every key below a form."""
    record = record_of(form)
    for entry in record.fields if record else ():
        inner = join(path, entry.name)
        if record is not None:
            yield inner, record, entry
        yield from every_key(entry.form, inner)


def record_of(form: Form) -> Record | None:
    """Return the mapping with known keys that a value of the form may be."""
    match form:
        case Record(fields=entries) if entries:
            return form
        case Either(block=Record(fields=entries) as inner) if entries:
            return inner
        case ListOf(item=Record(fields=entries) as inner) if entries:
            return inner
    return None


def _section(record: Record, path: str, progress: _Progress) -> Iterator[str]:
    depth = "##" if path.count(".") == 0 else "###"
    yield f"{depth} {code(path) if path else 'Sections'}\n"
    inner = [(join(path, entry.name), entry) for entry in record.fields]
    sections = [(at, part) for at, entry in inner if (part := record_of(entry.form)) is not None]
    # A source in `sources` repeats keys of other sections.
    sections.sort(key=lambda section: section[0] == "sources")
    rows = [_row(record, at, entry, progress) for at, entry in inner]
    if record.rest:
        rows.append(["any other key", f"One of the {record.rest.into}.", record.rest.form.expected, "none"])
    yield table(("key", "meaning", "value", "default"), rows)
    if record.later:
        yield f"Refused as not supported by this version: {', '.join(map(code, record.later))}.\n"
    for at, entry in inner:
        yield from _words(at, entry, progress)
    for at, part in sections:
        if not _is_described(part, progress):
            yield from _section(part, at, progress)


def _row(record: Record, path: str, entry: Field, progress: _Progress) -> list[str]:
    first = progress.paths.setdefault(id(entry), path)
    name = f"{'' if record_of(entry.form) and '.' not in path else anchor(key_anchor(path))}{code(entry.name)}"
    if first != path:
        return [name, f"As {link(code(first), '#' + key_anchor(first))}.", *progress.rows[id(entry)][2:]]
    when = REQUIRED_WHEN.get(path)
    row = [
        name,
        entry.meaning,
        _value(entry.form, path, progress),
        "required" if entry.required else f"required if {when}" if when else shown_default(record, entry),
    ]
    progress.rows[id(entry)] = row
    return row


def key_anchor(path: str) -> str:
    """Return the anchor of a key: `watermark-strategy`."""
    return path.replace(".", "-")


def _value(form: Form, path: str, progress: _Progress) -> str:
    part = record_of(form)
    if part is None:
        return expected_of(form)
    if _is_described(part, progress):
        home = progress.paths[id(part.fields[-1])].rpartition(".")[0]
    else:
        home = progress.homes.setdefault(id(part), path)
    target = link(f"keys of {code(home)}", "#" + slug(home))
    return f"a mapping: {target}" if form is part else f"{expected_of(form)}: {target}"


def expected_of(form: Form) -> str:
    """Return the shape of a value, with examples and words as code."""
    inner = form.item if isinstance(form, ListOf) else form
    words = [str(member.value) for member in inner.options] if isinstance(inner, Leaf) and inner.options else []
    text = _EXAMPLES.sub(lambda match: code(match[0].strip("'\"")), form.expected)
    return re.sub(rf"\b(?:{'|'.join(words)})\b", lambda match: code(match[0]), text) if words else text


def _is_described(record: Record, progress: _Progress) -> bool:
    return all(id(entry) in progress.paths for entry in record.fields)


def _words(path: str, entry: Field, progress: _Progress) -> Iterator[str]:
    enum = enum_of(path, entry.form)
    if enum is None or enum in progress.enums:
        return
    progress.enums.add(enum)
    words = {str(member.value): meanings.OF_MEMBERS[enum][member] for member in enum}
    record = record_of(entry.form)
    inner = {key.name for key in record.fields} if record else set()
    yield f"Values of {code(path)}:\n"
    rows = (
        (("" if word in inner else anchor(f"{key_anchor(path)}-{word}")) + code(word), meaning)
        for word, meaning in words.items()
    )
    yield table(("value", "meaning"), rows)


def enum_of(path: str, form: Form) -> type[Enum] | None:
    """Return the enum of the words that a key accepts."""
    inner = form.item if isinstance(form, ListOf) else form
    return (inner.options if isinstance(inner, Leaf) else None) or WORDS_AT.get(path)


def shown_default(record: Record, entry: Field) -> str:
    """Return the default as the file would write it, or `none`."""
    value = _default(record.build, entry.into)
    if is_dataclass(value) and record_of(entry.form) is entry.form:
        return "the defaults of its keys"
    texts = (text for text in _texts(value) if reads_back(entry.form, text, value))
    return next(map(code, texts), "none")


def _default(build: Callable[..., Any], name: str) -> Any:
    """Return the default of an argument: of the dataclass that `build` makes, else of `build` itself."""
    spec = build if isinstance(build, type) else get_type_hints(build).get("return")
    for kind in (spec, *get_args(spec)):
        for attribute in fields(kind) if isinstance(kind, type) and is_dataclass(kind) else ():
            if attribute.name == name:
                factory = attribute.default_factory
                return attribute.default if factory is MISSING else factory()
    parameter = inspect.signature(build).parameters.get(name)
    return MISSING if parameter is None else parameter.default


def _texts(value: Any) -> Iterator[str]:
    """Yield the ways in which a file may write a value."""
    match value:
        case bool():
            yield str(value).lower()
        case int() | float():
            yield from (format_duration(int(value)), f"{value:g}", str(value))
        case Emit(kind=word) | Trigger(kind=word) | (Enum() as word):
            yield str(word.value)
        case (Aggregate(), *_):
            yield "{" + ", ".join(f"{each.name}: {each.expression}" for each in value) + "}"
        case SourcePartition(columns=names) | (tuple() as names):
            yield f"[{', '.join(map(str, names))}]"
        case dict():
            yield "{}"
        case str():
            yield value


def reads_back(form: Form, text: str, value: Any) -> bool:
    """Return whether the form accepts the text, and makes the value of it."""
    problems = Problems()
    place = Place("default")
    node = Reader(place, str, problems).from_yaml(text)
    read = form.read(node, "key", Review({}, problems, places={"": place, "key": place}))
    return not problems and bool(read == value)
