"""A proof is a set of long tests with one claim, and the files whose content decides about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.proofs.patterns import matching


@dataclass(frozen=True)
class Proof:
    """A claim and its cases.

    `tests` are patterns of test files: each test in them that is marked `soak` is a case, with `is_whole` each test.
    `depends` are patterns of files: a case is proved as long as their content stays the same.

    `subject` is a regular expression: its group is the one further file that a case depends on, by the case's id.
    `subjects` are patterns of all such files: they decide which cases exist.
    `case_s` is the usual duration of a case in seconds, for cases that have not run on this machine.

    `optimizes_java`: Spark's Java compiles by its optimizing compiler too, if all proofs of a process have this mark.
    It costs the first minutes of a process, and then saves more. Java prints a line about it, so no test of the proof
    compares the output of a command.
    """

    name: str
    claim: str
    reason: str
    tests: tuple[str, ...]
    depends: tuple[str, ...]
    case_s: float
    is_whole: bool = False
    runs_alone: bool = False
    optimizes_java: bool = False
    subject: str | None = None
    subjects: tuple[str, ...] = ()

    def files(self, names: Iterable[str]) -> list[str]:
        """Return the test files of the proof among `names`."""
        return matching(self.tests, names)

    def content_patterns(self, case: str) -> tuple[str, ...]:
        """Return the patterns of the files that a case depends on."""
        subject = re.search(self.subject, case) if self.subject else None
        return (*self.depends, *subject.groups()) if subject else self.depends

    def cases(self, collected: Iterable[tuple[str, bool]], files: set[str]) -> Iterator[str]:
        """Return the cases among collected tests: pairs of an id and whether the test is marked `soak`."""
        for case, is_soak in collected:
            if case.split("::")[0] in files and (is_soak or self.is_whole):
                yield case
