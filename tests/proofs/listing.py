"""The list of a proof's cases: the tests that pytest collects in its files, kept until their content changes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from tests.proofs.content import Content
from tests.proofs.proof import Proof


class Listing:
    """The cases of each proof. `folder` keeps the lists, a file a proof."""

    def __init__(self, root: Path, folder: Path, content: Content) -> None:
        self._root, self._folder, self._content = root, folder, content

    def cases(self, proofs: Sequence[Proof]) -> dict[str, list[str]]:
        """Return the cases by the name of the proof. One pytest process collects all lists that are not kept."""
        lists = {proof.name: self._unchanged_list(proof) for proof in proofs}
        without_list = [proof for proof in proofs if lists[proof.name] is None]
        if without_list:
            typer.echo(f"==> collecting the cases of {', '.join(proof.name for proof in without_list)}")
            tests = self._collected(sorted({name for proof in without_list for name in self._files(proof)}))
            for proof in without_list:
                lists[proof.name] = list(proof.cases(tests, set(self._files(proof))))
                self._keep(proof, lists[proof.name] or [])
        return {name: cases or [] for name, cases in lists.items()}

    def _files(self, proof: Proof) -> list[str]:
        return proof.files(self._content.paths)

    def _unchanged_list(self, proof: Proof) -> list[str] | None:
        file = self._folder / f"{proof.name}.json"
        if not file.exists():
            return None
        fields = json.loads(file.read_text(encoding="utf-8"))
        return list(fields["cases"]) if fields["content"] == self._digest(proof) else None

    def _keep(self, proof: Proof, cases: list[str]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"content": self._digest(proof), "cases": cases})
        with tempfile.NamedTemporaryFile("w", dir=self._folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(self._folder / f"{proof.name}.json")

    def _digest(self, proof: Proof) -> str:
        return self._content.digest((*proof.depends, *proof.subjects, *proof.tests))

    def _collected(self, files: Sequence[str]) -> list[tuple[str, bool]]:
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder) / "tests.json"
            command = [sys.executable, "-m", "pytest", "-p", "tests.proofs.plugin", "-p", "no:cacheprovider"]
            command += ["--collect-only", "-q", f"--proof-list={listing}", *files]
            process = subprocess.run(command, cwd=self._root, check=False, capture_output=True, text=True)
            if process.returncode != 0:
                raise SystemExit(f"pytest cannot collect the cases:\n{process.stdout[-3000:]}{process.stderr[-3000:]}")
            return [(name, is_soak) for name, is_soak in json.loads(listing.read_text(encoding="utf-8"))]
