"""Documented output against real output.

Lines are compared in order. `...` alone in a line stands for any number of lines, `...` within a line for any text.
Two things differ from run to run: a run's id, where one id of the page always stands for one real id, and times of this
machine's clock, years from 2026 on, which stand for one another. Widths of blanks and of drawn lines do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: What a page calls the folder that a scenario works in.
FOLDER = "/home/you/tidemark"

_RUN_ID = re.compile(r"\br[0-9a-f]{15}\b")
_CLOCK = re.compile(r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:\+00:00|Z)?)?")
_DRAWN = re.compile(r"[─━]+")


@dataclass
class Output:
    """What one page knows of its runs: `ids` maps ids of the page to real ones."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    def real(self, text: str) -> str:
        """Return a command with the real ids and folder in place of the page's. Raises ValueError for an unknown id."""
        unknown = set(_RUN_ID.findall(text)) - self.ids.keys()
        if unknown:
            raise ValueError(f"the page shows no output with {', '.join(sorted(unknown))} before this command")
        return _RUN_ID.sub(lambda match: self.ids[match[0]], text).replace(FOLDER, str(self.folder))

    def difference(self, documented: str, real: str) -> str | None:
        """Return the first documented line that the output lacks at its place, or None."""
        lines, at, anywhere = [_plain(line) for line in self._with_page_folder(real).splitlines()], 0, False
        lines = [line for line in lines if line]
        for line in filter(None, map(_plain, documented.splitlines())):
            if line == "...":
                anywhere = True
                continue
            reach = range(at, len(lines)) if anywhere else range(at, min(at + 1, len(lines)))
            hit = next((i for i in reach if self._fits(line, lines[i])), None)
            if hit is None:
                return line
            at, anywhere = hit + 1, False
        return None if anywhere or at == len(lines) else f"... is missing before: {lines[at]}"

    def _with_page_folder(self, real: str) -> str:
        return real.replace(str(self.folder), FOLDER)

    def _fits(self, documented: str, real: str) -> bool:
        match = re.fullmatch("".join(self._pattern(documented)), real)
        if match is None:
            return False
        for name, value in match.groupdict().items():
            if name.startswith("r") and self.ids.setdefault(name, value) != value:
                return False
        return True

    def _pattern(self, documented: str) -> Iterator[str]:
        named: set[str] = set()
        for part in re.split(rf"({_RUN_ID.pattern}|\.\.\.|<clock>)", documented):
            if part == "...":
                yield ".*"
            elif _RUN_ID.fullmatch(part):
                yield f"(?P={part})" if part in named else f"(?P<{part}>{_RUN_ID.pattern})"
                named.add(part)
            else:
                yield re.escape(part)


def _plain(line: str) -> str:
    return re.sub(r"\s+", " ", _DRAWN.sub("─", _CLOCK.sub("<clock>", line))).strip()
