"""The text of a drafted pipeline file: the settings, and as comments the evidence and what was left out.

A line that the user has to decide has the comment `# CHOOSE: ...` above it.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.jobs.draft import roles
from spark_jobs.jobs.draft.named_columns import NamedColumn, named_column
from spark_jobs.jobs.draft.profile import Profile
from spark_jobs.jobs.draft.proposal import NONE, Proposal
from spark_jobs.jobs.draft.roles import Guess
from spark_jobs.jobs.plan.invalid_rows import InvalidRows
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import TimeField

_MOST_LEFT_OUT = 20
_MOST_ALTERNATIVES = 5
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "~"))


@dataclass(frozen=True)
class Weighed:
    """The recommended bound and lateness, in words too, and the rows that are invalid with the settings."""

    out_of_orderness: str = "0s"
    allowed_lateness: str = "0s"
    words: str = ""
    invalid: Sequence[InvalidRows] = ()


def pipeline_text(table: str, columns: Sequence[str], profile: Profile, proposal: Proposal, weighed: Weighed) -> str:
    """Return the pipeline file for a table with `columns`."""
    return "\n".join(_Lines(table, columns, profile, proposal, weighed).lines()) + "\n"


def pipeline_name(table: str) -> str:
    """Return a valid name of a pipeline, from the name of the table."""
    last = re.split(r"[/.\\]", table.rstrip("/\\"))[-1]
    name = re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_")[:100].rstrip("_")
    return name if name[:1].isalpha() else f"table_{name}"[:100].rstrip("_")


def time_field(field: TimeField, *, is_local: bool = False) -> str:
    """Return a time field as YAML: an expression, or a block on one line."""
    column = _yaml(field.expression)
    if field.unit is not None:
        return f"{{column: {column}, unit: {field.unit.value}}}"
    if field.format is None:
        return column if field.timezone == "UTC" else f"{{column: {column}, timezone: {_yaml(field.timezone)}}}"
    zone = f", timezone: {_yaml(field.timezone)}" if is_local else ""
    return f"{{column: {column}, format: {json.dumps(field.format, ensure_ascii=False)}{zone}}}"


def source_columns(named: Sequence[NamedColumn]) -> list[str]:
    """Return the lines of `source.columns`; none if each column has its name in the table."""
    computed = dict.fromkeys(column for column in named if column.expression is not None)
    if not computed:
        return []
    return [
        *_comment("New names for fields of structs, and for names that results cannot have", "  "),
        "  columns:",
        *(f"    {_yaml(column.name)}: {_yaml(str(column.expression))}" for column in computed),
    ]


class _Lines:
    def __init__(
        self, table: str, columns: Sequence[str], profile: Profile, proposal: Proposal, weighed: Weighed
    ) -> None:
        self._table, self._profile, self._proposal, self._weighed = table, profile, proposal, weighed
        partition = proposal.guesses["source_partition"].column
        self._partition = None if partition is None else self._named(partition, columns, is_key=False)
        self._keys = [self._named(key, columns, is_key=True) for key in proposal.keys]

    def lines(self) -> list[str]:
        choose = "Decide the lines with CHOOSE first." if self._proposal.choices else "Check each of the guesses."
        return [
            *_comment(f"Drafted from {self._table}, {self._profile.rows:,} rows. {choose}", ""),
            f"name: {pipeline_name(self._table)}",
            "",
            "source:",
            f"  table: {_yaml(self._table)}",
            *source_columns([*([self._partition] if self._partition else []), *self._keys]),
            *self._event_time(),
            *self._arrival_time(),
            *self._source_partition(),
            *self._tie_break(),
            "",
            "replay:",
            f"  order: {'event_time' if self._guess('arrival_time').column is None else 'arrival'}",
            "",
            *self._watermark(),
            "",
            *self._windows(),
            *self._left_out(),
        ]

    def _event_time(self) -> list[str]:
        return [
            *self._evidence("event_time", self._zone("event_time")),
            *_comment(self._invalid(), "  "),
            f"  event_time: {self._time('event_time')}",
        ]

    def _arrival_time(self) -> list[str]:
        guess = self._guess("arrival_time")
        if guess.column is not None:
            comment = self._evidence("arrival_time", self._zone("arrival_time"))
            return [*comment, f"  arrival_time: {self._time('arrival_time')}"]
        mark = "CHOOSE: " if guess.is_thin else ""
        sentence = (
            f"{mark}arrival_time: {guess.why}. In event-time order no row of one version is late. "
            "If rows were appended as they arrived, use replay.order: commit"
        )
        return _comment(sentence, "  ")

    def _source_partition(self) -> list[str]:
        guess = self._guess("source_partition")
        if guess.column is None and not guess.alternatives:
            return []
        comment = self._evidence("source_partition", "each has its own watermark")
        if self._partition is None:
            return comment
        return [*comment, f"  source_partition: [{_yaml(self._partition.name)}]"]

    def _tie_break(self) -> list[str]:
        guess = self._guess("tie_break")
        if guess.column is None:
            return []
        name = self._profile.leaves[guess.column].path[0]
        return [
            *self._evidence("tie_break", "the order of rows with the same arrival time"),
            f"  tie_break: [{_yaml(name)}]",
        ]

    def _watermark(self) -> list[str]:
        return [
            "watermark:",
            "  strategy: bounded_out_of_orderness",
            *_comment(self._weighed.words, "  "),
            f"  out_of_orderness: {self._weighed.out_of_orderness}",
            "  emit: {every: 1 minute}",
        ]

    def _windows(self) -> list[str]:
        size = self._proposal.size
        mark = "CHOOSE: " if size.is_thin else ""
        rows = "row_total" if any(key.name.lower() == "rows" for key in self._keys) else "rows"
        return [
            "windows:",
            "  kind: tumbling",
            *_comment(f"{mark}{size.why}", "  "),
            f"  size: {format_duration(size.ms)}",
            *self._evidence("key", "[] is one group for all"),
            f"  key: [{', '.join(_yaml(key.name) for key in self._keys)}]",
            f"  allowed_lateness: {self._weighed.allowed_lateness}",
            "  aggregates:",
            f"    {rows}: count(*)",
        ]

    def _left_out(self) -> list[str]:
        reasons = roles.without_role(self._profile, self._proposal.guesses)
        if not reasons and self._profile.note is None:
            return []
        listed = [f"{column}: {reason}" for column, reason in reasons.items()]
        further = len(listed) - _MOST_LEFT_OUT
        sentences = [
            *([self._profile.note] if self._profile.note else []),
            *(["Columns that have no role:"] if listed else []),
        ]
        items = [*listed[:_MOST_LEFT_OUT], *([f"and {further:,} more"] if further > 0 else [])]
        return ["", *(line for text in sentences for line in _comment(text, "")), *_items(items)]

    def _evidence(self, role: str, purpose: str) -> list[str]:
        """Return the comment of a role: the column, its numbers, and the alternatives."""
        guess = self._guess(role)
        mark = "CHOOSE: " if guess.is_thin else ""
        lines = [f"{mark}{guess.column or NONE}: {guess.why}" + (f". {_sentence(purpose)}" if purpose else "")]
        if guess.alternatives:
            label = "Possible" if guess.column is None else "Runner-up"
            lines.append(f"{label}: {self._alternatives(role, guess)}")
        return [line for text in lines for line in _comment(text, "  ")]

    def _alternatives(self, role: str, guess: Guess) -> str:
        names = guess.alternatives[:_MOST_ALTERNATIVES]
        first = names[0]
        if role in ("event_time", "arrival_time"):
            first += f" ({roles.facts(self._profile.moment(first), self._profile)})"
        elif first in self._profile.values:
            first += f" (about {self._profile.values[first].distinct:,} values)"
        more = len(guess.alternatives) - len(names)
        return f"{first}{''.join(f', {name}' for name in names[1:])}" + (f" and {more} more" if more else "")

    def _zone(self, role: str) -> str:
        moment = self._profile.moment(str(self._guess(role).column))
        if not moment.reading.is_local:
            return ""
        if self._proposal.timezone is not None:
            return f"its clock has no zone, and is read as {self._proposal.timezone}"
        example = f"{{column: {moment.column}, timezone: Europe/Berlin}}"
        remedy = "set timezone" if moment.reading.field.format else f"write {example}"
        return f"its clock has no zone, and is read as UTC: for another zone {remedy}"

    def _time(self, role: str) -> str:
        field = self._proposal.field(role, self._profile)
        reading = self._profile.moment(str(self._guess(role).column)).reading
        return time_field(field or reading.field, is_local=reading.is_local)

    def _invalid(self) -> str:
        every = self._weighed.invalid
        if not every:
            return ""
        rows = sum(invalid.rows for invalid in every)
        return f"{rows:,} of {self._profile.rows:,} rows are invalid: {'; '.join(i.in_words() for i in every)}"

    def _named(self, column: str, columns: Sequence[str], *, is_key: bool) -> NamedColumn:
        return named_column(self._profile.leaves[column], columns, is_key=is_key)

    def _guess(self, role: str) -> Guess:
        return self._proposal.guesses[role]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _comment(text: str, indent: str) -> list[str]:
    return _wrapped(text, f"{indent}# ", f"{indent}# ")


def _items(items: Sequence[str]) -> list[str]:
    return [line for item in items for line in _wrapped(item, "#   ", "#     ")]


def _wrapped(text: str, first: str, further: str) -> list[str]:
    words = " ".join(text.split())
    return textwrap.wrap(words, 110, initial_indent=first, subsequent_indent=further, break_on_hyphens=False)


def _yaml(text: str) -> str:
    """Return text as YAML that every parser reads as text."""
    plain = re.fullmatch(r"[A-Za-z_/.$][\w/.${}:-]*", text) and text.lower() not in _WORDS and not text.endswith(":")
    inside = plain and not re.search(r"[{}]|:\s", text.replace("${", "").replace("}", ""))
    return text if inside else json.dumps(text, ensure_ascii=False)
