"""A proposal is what a pipeline file will have: the answers of the user, and a guess for everything else."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from zoneinfo import available_timezones

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.draft import roles
from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.profile import Profile
from spark_jobs.jobs.draft.readings import Reading
from spark_jobs.jobs.draft.roles import Guess
from spark_jobs.jobs.draft.window_size import WindowSize, window_size
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.durations import DurationError, format_duration, parse_duration
from spark_jobs.pipeline.model import TimeField

#: The answer that a setting has no column.
NONE = "none"


@dataclass(frozen=True)
class Answers:
    """What the user decides: columns as in SQL or by their names, `none` for no column; None: guess it.

    `timezone` is that of an event time without a zone.
    """

    event_time: str | None = None
    arrival_time: str | None = None
    source_partition: str | None = None
    key: tuple[str, ...] | None = None
    size: str | None = None
    timezone: str | None = None

    def columns(self) -> dict[str, str]:
        """Return the columns of the answers, each with the flag that names it."""
        flags = {
            **({self.event_time: "--event-time"} if self.event_time else {}),
            **({self.arrival_time: "--arrival-time"} if self.arrival_time else {}),
            **({self.source_partition: "--partition"} if self.source_partition else {}),
            **dict.fromkeys(self.key or (), "--key"),
        }
        return {column: flag for column, flag in flags.items() if column != NONE}


@dataclass(frozen=True)
class Choice:
    """A setting with thin evidence: the proposed value, the alternatives, and the reason."""

    setting: str
    value: str
    alternatives: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Proposal:
    """The roles of columns by name of their setting, further keys, the size of windows, and the time zone."""

    guesses: Mapping[str, Guess]
    further_keys: tuple[str, ...]
    size: WindowSize
    timezone: str | None

    @property
    def keys(self) -> tuple[str, ...]:
        """The key of windows, in SQL."""
        first = self.guesses["key"].column
        return () if first is None else (first, *self.further_keys)

    @property
    def choices(self) -> list[Choice]:
        """The settings that the user has to decide, in the order of the file."""
        every = [
            Choice(_settings[name], guess.column or NONE, guess.alternatives, guess.why)
            for name, guess in self.guesses.items()
            if guess.is_thin
        ]
        if self.size.is_thin:
            every.append(Choice("windows.size", format_duration(self.size.ms), (), self.size.why))
        return every

    def field(self, role: str, profile: Profile) -> TimeField | None:
        """Return the time field of a role, with the time zone that the user chose."""
        column = self.guesses[role].column
        return None if column is None else in_zone(profile.moment(column).reading, self.timezone)


_settings = {
    "event_time": "source.event_time",
    "arrival_time": "source.arrival_time",
    "source_partition": "source.source_partition",
    "tie_break": "source.tie_break",
    "key": "windows.key",
}


def propose(profile: Profile, answers: Answers) -> Proposal:
    """Return the proposal for a table. Raises InputError for an answer that the table does not allow."""
    every = profile.leaves.values()
    answers = replace(
        answers,
        event_time=_resolved(answers.event_time, "--event-time", every),
        arrival_time=_resolved(answers.arrival_time, "--arrival-time", every),
        source_partition=_resolved(answers.source_partition, "--partition", every),
        key=None if answers.key is None else tuple(_resolved(name, "--key", every) or "" for name in answers.key),
    )
    event, arrival = _times(profile, answers)
    _require_zone(answers.timezone)
    partition = _chosen(answers.source_partition, profile) or roles.source_partition(profile)
    keys = None if answers.key is None else tuple(name for name in answers.key if name != NONE)
    guessed = roles.key(profile, (partition.column,))
    key = guessed if keys is None else _chosen(next(iter(keys), NONE), profile) or guessed
    guesses = {
        "event_time": event,
        "arrival_time": arrival,
        "source_partition": partition,
        "tie_break": roles.tie_break(profile),
        "key": key,
    }
    return Proposal(guesses, (keys or ())[1:], _size(profile, guesses, keys, answers.size), answers.timezone)


def in_zone(reading: Reading, timezone: str | None) -> TimeField:
    """Return the time field of a reading; a time zone applies to a clock without one."""
    if timezone is None or not reading.is_local:
        return reading.field
    return replace(reading.field, timezone=timezone)


def resolve(name: str, flag: str, leaves: Iterable[Leaf]) -> Leaf:
    """Return the leaf of a name: in SQL, or the names of its path. Raises InputError."""
    every = list(leaves)
    for leaf in every:
        if name in (leaf.expression, ".".join(leaf.path)):
            return leaf
    columns = [leaf.expression for leaf in every]
    near = difflib.get_close_matches(name, columns, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    listed = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    raise InputError(
        f"{flag} '{name}': no column of the table has this name. {hint}It has {listed}", code=ErrorCode.NO_DRAFT
    )


def _resolved(name: str | None, flag: str, leaves: Iterable[Leaf]) -> str | None:
    return name if name is None or name == NONE else resolve(name, flag, leaves).expression


def _times(profile: Profile, answers: Answers) -> tuple[Guess, Guess]:
    for column, flag in ((answers.event_time, "--event-time"), (answers.arrival_time, "--arrival-time")):
        _require_time(column, flag, profile)
    if answers.event_time == NONE:
        raise InputError("--event-time: a pipeline needs an event time. Name a column", code=ErrorCode.NO_DRAFT)
    if answers.arrival_time == NONE:
        return roles.alone(profile, answers.event_time), Guess(None, "not used")
    return roles.times(profile, answers.event_time, answers.arrival_time)


def _require_time(column: str | None, flag: str, profile: Profile) -> None:
    if column is None or column == NONE or any(moment.column == column for moment in profile.moments):
        return
    reason = profile.left_out.get(column, "its values have no form of a time")
    times = ", ".join(moment.column for moment in profile.moments)
    raise InputError(f"{flag} '{column}': is not a time: {reason}. The times are {times}", code=ErrorCode.NO_DRAFT)


def _require_zone(name: str | None) -> None:
    if name is not None and name not in available_timezones():
        near = difflib.get_close_matches(name, available_timezones(), n=1)
        hint = f"did you mean '{near[0]}'?" if near else "Give a name such as Europe/Berlin"
        raise InputError(f"--timezone '{name}': is no time zone; {hint}", code=ErrorCode.OPTION_WRONG)


def _chosen(column: str | None, profile: Profile) -> Guess | None:
    if column is None:
        return None
    if column == NONE:
        return Guess(None, "as you chose")
    values = profile.values.get(column)
    return Guess(column, "as you chose" + (f"; about {values.distinct:,} values" if values else ""))


def _size(profile: Profile, guesses: Mapping[str, Guess], keys: Sequence[str] | None, answer: str | None) -> WindowSize:
    if answer is not None:
        try:
            return WindowSize(parse_duration(answer), "as you chose")
        except DurationError as problem:
            raise InputError(f"--size '{answer}': {problem}", code=ErrorCode.OPTION_WRONG) from None
    moment = profile.moment(str(guesses["event_time"].column))
    columns = keys if keys is not None else [guesses["key"].column] if guesses["key"].column else []
    groups = 1
    for column in columns:
        groups *= max(1, profile.values[column].distinct) if column in profile.values else 1
    return window_size(moment.read, min(groups, max(1, profile.rows)), moment.span_us // 1_000, moment.step)
