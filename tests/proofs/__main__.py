"""Run the long proofs in pieces, and print which of them are proved for the code as it is.

    python -m tests.proofs run --minutes 25              go on with the cases that are not proved yet
    python -m tests.proofs run --shard 3/8               one of eight parts of all cases
    python -m tests.proofs run --proof slicings,kills    some proofs only
    python -m tests.proofs table                         print what is proved; nothing runs
    python -m tests.proofs keep                          write what is proved into a file to commit
    python -m tests.proofs smoke                         a few quick tests of every package

The Makefile has each of them but `keep` as a target.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tests.proofs.progress import table
from tests.proofs.proof import Proof
from tests.proofs.shards import SAMPLES
from tests.proofs.sitting import COMMITTED_FILE, SIDE_BY_SIDE, Sitting
from tests.proofs.smoke import SMOKE

ROOT = Path(__file__).parents[2]
#: Minutes of a shard after which no case starts, unless `--minutes` sets another number.
SHARD_MINUTES = 14.0

app = typer.Typer(add_completion=False)
Names = Annotated[str, typer.Option("--proof", help="names of proofs, with commas; all of them if empty")]
SampleName = Annotated[str, typer.Option("--sample", help="a sample of the cases: third or tenth")]
Root = Annotated[Path, typer.Option(help="the working tree")]
Catalogue = Annotated[str, typer.Option(help="the module with the proofs")]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    proof: Names = "",
    shard: Annotated[str, typer.Option(help="one of n equal parts: i/n")] = "",
    minutes: Annotated[float | None, typer.Option(help="start no case that would end later", min=0)] = None,
    sample: SampleName = "",
    root: Root = ROOT,
    catalogue: Catalogue = "tests.proofs.proofs",
) -> None:
    """Run cases that are not proved; exit with 1 if one of them fails. Other options go to pytest."""
    began = time.time()
    sitting = _sitting(root, catalogue, proof, sample)
    part = _part(shard)
    limit = SHARD_MINUTES if part and minutes is None else minutes
    until = None if limit is None else began + 60 * limit
    try:
        code = sitting.run_shard(*part, until, context.args) if part else sitting.run(until, context.args)
    except KeyboardInterrupt:
        code = 2
    typer.echo(table(sitting.progress()))
    _print_failing(sitting)
    raise typer.Exit(code)


@app.command("table")
def print_table(
    proof: Names = "", sample: SampleName = "", root: Root = ROOT, catalogue: Catalogue = "tests.proofs.proofs"
) -> None:
    """Print what is proved for the code as it is."""
    sitting = _sitting(root, catalogue, proof, sample)
    typer.echo(table(sitting.progress()))
    _print_failing(sitting)


@app.command()
def keep(proof: Names = "", root: Root = ROOT, catalogue: Catalogue = "tests.proofs.proofs") -> None:
    """Write the cases that are proved for the code as it is into the part of the record that is committed."""
    sitting = _sitting(root, catalogue, proof, "")
    typer.echo(f"{sitting.keep():,} cases are proved. {COMMITTED_FILE} contains them; commit it with the code.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def smoke(context: typer.Context) -> None:
    """Run a few quick tests of every package."""
    tests = [test for tests in SMOKE.values() for test in tests]
    command = [sys.executable, "-m", "pytest", "-m", "not soak", *SIDE_BY_SIDE, *context.args, *tests]
    raise typer.Exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


def _sitting(root: Path, catalogue: str, names: str, sample: str) -> Sitting:
    proofs: Sequence[Proof] = importlib.import_module(catalogue).PROOFS
    by_name = {proof.name: proof for proof in proofs}
    chosen_names = [name for name in names.split(",") if name] or list(by_name)
    for name in chosen_names:
        if name not in by_name:
            raise typer.BadParameter(f"no proof is named {name!r}. The proofs are {', '.join(by_name)}.")
    if sample and sample not in SAMPLES:
        raise typer.BadParameter(f"no sample is named {sample!r}. The samples are {', '.join(SAMPLES)}.")
    return Sitting(root, root / ".proofs", [by_name[name] for name in chosen_names], sample or None)


def _part(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise typer.BadParameter(f"a shard is i/n with 1 <= i <= n, but this one is {text!r}. Write 3/8, for example.")
    return int(number), int(of)


def _print_failing(sitting: Sitting) -> None:
    for row in sitting.progress():
        for case in row.failing_cases:
            typer.echo(f"failing: {row.name}: {case}")


if __name__ == "__main__":
    app()
