"""Questions: on a terminal the user decides each setting of a draft whose evidence is thin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import typer

from spark_jobs.cli import printing
from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.draft.profile import Profile
from spark_jobs.jobs.draft.proposal import NONE, Answers, Choice, propose
from spark_jobs.jobs.errors import InputError

Prompt = Callable[[str, str], str]
"""Called with a question and its default; returns the answer."""

_MOST_ALTERNATIVES = 5
_NAMES = {
    "source.event_time": "event_time",
    "source.arrival_time": "arrival_time",
    "source.source_partition": "source_partition",
    "windows.key": "key",
    "windows.size": "size",
}


def decide(profile: Profile, answers: Answers, prompt: Prompt) -> Answers:
    """Return `answers` with the user's answer to each question; Enter accepts the guess."""
    for setting, name in _NAMES.items():
        choice = next((c for c in propose(profile, answers).choices if c.setting == setting), None)
        if choice is not None:
            answers = _accepted(profile, answers, name, _question(choice), choice.value, prompt)
        if name == "event_time" and answers.timezone is None:
            column = propose(profile, answers).guesses["event_time"].column
            if profile.moment(str(column)).reading.is_local:
                question = f"time zone of {column}, whose clock has no zone"
                answers = _accepted(profile, answers, "timezone", question, "UTC", prompt)
    return answers


def on_terminal(question: str, default: str) -> str:
    """Prompt on standard error, so that standard output stays free for the file."""
    try:
        return str(typer.prompt(question, default=default, err=True))
    except typer.Abort:
        raise InputError(
            "no answer: no file was written. Give --yes to accept all guesses", code=ErrorCode.FILE_NOT_WRITTEN
        ) from None


def _accepted(profile: Profile, answers: Answers, name: str, question: str, default: str, prompt: Prompt) -> Answers:
    """Return `answers` with the first answer that the table allows."""
    while True:
        answer = prompt(question, default).strip()
        changed = _with(answers, name, answer)
        try:
            propose(profile, changed)
        except InputError as problem:
            printing.ERR.print(str(problem), style="red", markup=False, highlight=False, soft_wrap=True)
        else:
            return changed


def _with(answers: Answers, name: str, answer: str) -> Answers:
    value: Any = tuple(part.strip() for part in answer.split(",")) if name == "key" else answer
    return replace(answers, **{name: value})


def _question(choice: Choice) -> str:
    names = [*choice.alternatives[:_MOST_ALTERNATIVES], *([NONE] if choice.setting in _WITHOUT else [])]
    further = f" (or {', '.join(names)})" if names else ""
    return f"{choice.setting}: {choice.value}: {choice.why}\n  {choice.setting}{further}"


#: The settings that a pipeline may leave out.
_WITHOUT = ("source.arrival_time", "source.source_partition", "windows.key")
