"""The table of the proofs in `docs/proofs.md`."""

from __future__ import annotations

from collections.abc import Iterable

from tests.proofs.proof import Proof


def table(proofs: Iterable[Proof]) -> str:
    """Return the table in Markdown."""
    rows = [f"| `{p.name}` | {p.claim} | {p.reason} | {_tests(p)} | {p.case_s:g} s |" for p in proofs]
    head = "| proof | claim | why it matters | tests | a case takes about |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def _tests(proof: Proof) -> str:
    """Return the patterns of test files, but for the ones that only keep other proofs out."""
    patterns = ", ".join(f"`{pattern}`" for pattern in proof.tests if not pattern.startswith("!"))
    restriction = " but not the ones above" if any(pattern.startswith("!") for pattern in proof.tests) else ""
    return f"{patterns}{restriction}{'; alone' if proof.runs_alone else ''}"
