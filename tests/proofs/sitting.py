"""A sitting: pytest processes, one after the other, that run cases which are not proved yet."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import typer

from tests.proofs.content import Content
from tests.proofs.listing import Listing
from tests.proofs.progress import Progress, at_content, progress
from tests.proofs.proof import Proof
from tests.proofs.record import PASSED, Record, durations, usual_duration
from tests.proofs.shards import sample, shard
from tests.proofs.work import Case, Work

#: Two workers: each has a Spark driver of 2 GiB.
SIDE_BY_SIDE = ("--numprocesses", "2", "--dist", "worksteal")
#: The part of the record that is committed with the code.
COMMITTED_FILE = "tests/proofs/proved.jsonl"
#: Java reads this variable after the options of its command line, which `conftest.spark` opens for few rows.
_OPTIMIZED_JAVA = {"_JAVA_OPTIONS": "-XX:TieredStopAtLevel=4 -XX:ReservedCodeCacheSize=480m"}
#: The exit code of pytest if it ran no test: here because the time was over.
_NOTHING_RAN = 5


@dataclass(frozen=True)
class Sitting:
    """Some proofs in a working tree, or a sample of their cases. `folder` keeps the record and the lists."""

    root: Path
    folder: Path
    proofs: Sequence[Proof]
    sample_name: str | None = None

    @cached_property
    def content(self) -> Content:
        """The content of the working tree."""
        return Content(self.root)

    @cached_property
    def record(self) -> Record:
        """The record: the cases that ended in this clone, and the ones that are committed with the code."""
        return Record(self.folder / "record.jsonl", self.root / COMMITTED_FILE)

    @cached_property
    def cases(self) -> dict[str, dict[str, Case]]:
        """The cases of each proof, by its name."""
        lists = Listing(self.root, self.folder / "cases", self.content).cases(self.proofs)
        seconds = durations(self.record.entries())
        return {proof.name: self._cases(proof, lists[proof.name], seconds) for proof in self.proofs}

    def progress(self) -> list[Progress]:
        """Return the progress of each proof."""
        entries = self.record.entries()
        contents = {name: {case: of.content for case, of in cases.items()} for name, cases in self.cases.items()}
        return [
            progress(p.name, contents[p.name], [e for e in entries if e.case in contents[p.name]], p.case_s)
            for p in self.proofs
        ]

    def keep(self) -> int:
        """Write the cases that are proved into the file that is committed; return their number.

        Rule: the proofs of this sitting are written anew. The lines of other proofs stay as they are.
        """
        contents = {name: case.content for cases in self.cases.values() for name, case in cases.items()}
        present = at_content(self.record.entries(), contents)
        proved_cases = [entry for entry in present.values() if entry.outcome == PASSED]
        names = {proof.name for proof in self.proofs}
        other_entries = [entry for entry in Record(self.root / COMMITTED_FILE).entries() if entry.proof not in names]
        self.record.keep([*other_entries, *proved_cases])
        return len(proved_cases)

    def run(self, until: float | None, options: Sequence[str]) -> int:
        """Run the proofs one after the other; return the highest exit code of pytest."""
        return max(self._pytest([proof], None, until, options) for proof in self.proofs)

    def run_shard(self, number: int, of: int, until: float | None, options: Sequence[str]) -> int:
        """Run one shard of all cases: first the cases that run side by side, then the ones that run alone."""
        part = self._shard(number, of)
        groups = [[p for p in self.proofs if p.runs_alone == is_alone] for is_alone in (False, True)]
        return max(self._pytest(group, part, until, options) for group in groups if group)

    def _cases(self, proof: Proof, names: Iterable[str], seconds: Mapping[str, float]) -> dict[str, Case]:
        names, cases = list(names), {}
        usual_s = usual_duration((seconds[name] for name in names if name in seconds), proof.case_s)
        for name in sample(names, self.sample_name) if self.sample_name else names:
            patterns = proof.content_patterns(name)
            digest = self.content.digest(patterns)
            cases[name] = Case(proof.name, seconds.get(name, usual_s), patterns, digest)
        return cases

    def _shard(self, number: int, of: int) -> set[str]:
        """Return the cases of a shard.

        Rule: all shards of one set of cases at one content are drawn from the durations that were known before the
        first of them ran. So they do not overlap and leave nothing out, though each of them adds to the record.
        """
        cases = {name: case for of_proof in self.cases.values() for name, case in of_proof.items()}
        contents = sorted(f"{name} {case.content}" for name, case in cases.items())
        first = self.record.moment(f"{of} shards {hashlib.sha256(repr(contents).encode()).hexdigest()[:20]}")
        before = durations(entry for entry in self.record.entries() if entry.at < first)
        usual = {proof.name: proof.case_s for proof in self.proofs}
        return shard({name: before.get(name, usual[case.proof]) for name, case in cases.items()}, number, of)

    def _pytest(
        self, proofs: Sequence[Proof], part: Collection[str] | None, until: float | None, options: Sequence[str]
    ) -> int:
        """Run the cases of the proofs that are in the part and not proved, in one pytest process."""
        names = {proof.name for proof in proofs}
        proved_cases = {case for row in self.progress() if row.name in names for case in row.proved_cases}
        cases = {
            name: case for proof in proofs for name, case in self.cases[proof.name].items() if name not in proved_cases
        }
        selection = {name: case for name, case in cases.items() if part is None or name in part}
        if not selection or (until is not None and time.time() >= until):
            return 0
        typer.echo(f"==> {', '.join(sorted({case.proof for case in selection.values()}))}: {len(selection):,} cases")
        workers = () if all(proof.runs_alone for proof in proofs) else SIDE_BY_SIDE
        file = self.folder / f"work-{os.getpid()}.json"
        Work(str(self.folder / "record.jsonl"), selection, until).write(file)
        try:
            files = sorted({name.split("::")[0] for name in selection})
            plugin = ("-p", "tests.proofs.plugin", f"--proof-work={file}")
            command = [sys.executable, "-m", "pytest", *plugin, *workers, *options, *files]
            java = _OPTIMIZED_JAVA if all(proof.optimizes_java for proof in proofs) else {}
            code = subprocess.run(command, cwd=self.root, check=False, env={**java, **os.environ}).returncode
        finally:
            file.unlink()
        return 0 if code == _NOTHING_RAN else code
