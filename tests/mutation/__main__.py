"""The mutation run: break one rule after the other in a copy of the tree, and print those that no test notices.

    python -m tests.mutation spark_jobs/semantics            the reference, by its own tests
    python -m tests.mutation spark_jobs/replay/windows/lateness.py   the Spark engine, by comparisons with the reference

A mutant is killed if a test fails, or takes longer than any should. Survivors are printed with their places.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tests.mutation.cases import broken_module
from tests.mutation.judges import Judge, Reference, SparkEngine
from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
REPLAY = "spark_jobs/replay/"


def run(
    paths: Annotated[list[Path], typer.Argument(help="modules, or folders of them")],
    every: Annotated[int, typer.Option(help="break only every n-th place", min=1)] = 1,
    first: Annotated[int, typer.Option(help="begin at this place, from 0", min=0)] = 0,
    seconds: Annotated[float, typer.Option(help="of tests in Spark for a mutant that none of them kills", min=1)] = 120,
) -> None:
    """Break each place of the modules once; exits with 1 if the tests fail before anything is broken."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    sample = [mutant for file in files for mutant in mutants(file.resolve(), ROOT)][first::every]
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        survivors = [mutant for judge, of in judged_by(sample, tree, seconds) for mutant in survived(judge, of, tree)]
    typer.echo(f"{len(sample)} mutants, {len(sample) - len(survivors)} killed, {len(survivors)} survived")
    for mutant in survivors:
        typer.echo(f"  survived: {mutant}")


def copied(folder: Path) -> Path:
    """Copy what git knows of, and link what set-up has made."""
    git = str(shutil.which("git"))
    names = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return folder


def judged_by(sample: Sequence[Mutant], tree: Path, seconds: float) -> Iterator[tuple[Judge, list[Mutant]]]:
    """Give the judges that are needed, each with its mutants."""
    of_spark = [mutant for mutant in sample if mutant.path.startswith(REPLAY)]
    of_reference = [mutant for mutant in sample if not mutant.path.startswith(REPLAY)]
    if of_reference:
        yield Reference(tree), of_reference
    if of_spark:
        judge = SparkEngine(tree, seconds, tree / "reaches")
        try:
            yield judge, of_spark
        finally:
            judge.close()


def survived(judge: Judge, of: Sequence[Mutant], tree: Path) -> Iterator[Mutant]:
    """Judge the mutants; give those that no test has killed."""
    if not judge.prepare():
        sys.exit("the tests fail before anything is broken")
    for number, mutant in enumerate(of, start=1):
        began = time.monotonic()
        with broken_module(tree, mutant):
            lives = judge.passes(mutant)
        verdict = "SURVIVED" if lives else "killed"
        typer.echo(f"{number}/{len(of)} {verdict} in {time.monotonic() - began:.0f} s: {mutant}")
        if lives:
            yield mutant


if __name__ == "__main__":
    typer.run(run)
