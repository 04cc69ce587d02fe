"""The catalogue of proofs is whole: each long test is in one proof, and each proof names what it depends on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.proofs.content import Content
from tests.proofs.imports import with_imports
from tests.proofs.page import table
from tests.proofs.patterns import matching
from tests.proofs.proof import Proof
from tests.proofs.proofs import PROOFS

ROOT = Path(__file__).parents[2]
PATHS = Content(ROOT).paths
TESTS = [path for path in PATHS if re.fullmatch(r"tests/(.*/)?test_\w+\.py", path)]
# In text, since collecting all tests takes most of a minute. What only names the mark is in these files.
SOAK = re.compile(r"\bmark\.soak\b|\bquick=")
NAMES_ONLY = {"tests/proofs/test_proofs.py", "tests/proofs/test_sitting.py"}


def named(proof: Proof) -> str:
    return proof.name


def test_each_file_with_long_tests_is_in_exactly_one_proof() -> None:
    proofs = {path: [proof.name for proof in PROOFS if path in proof.files([path])] for path in TESTS}
    for path in set(TESTS) - NAMES_ONLY:
        is_long = SOAK.search((ROOT / path).read_text(encoding="utf-8")) is not None
        assert len(proofs[path]) <= 1, f"{path} is in {proofs[path]}"
        assert proofs[path] or not is_long, f"{path} has long tests and is in no proof"


@pytest.mark.parametrize("proof", PROOFS, ids=named)
def test_a_proof_has_tests_that_are_long(proof: Proof) -> None:
    files = proof.files(PATHS)
    assert any(SOAK.search((ROOT / file).read_text(encoding="utf-8")) for file in files)


@pytest.mark.parametrize("proof", PROOFS, ids=named)
def test_a_proof_depends_on_all_that_its_tests_import(proof: Proof) -> None:
    depends = set(matching((*proof.depends, *proof.subjects), PATHS))
    assert with_imports(proof.files(PATHS)) - depends == set()


@pytest.mark.parametrize("proof", PROOFS, ids=named)
def test_each_pattern_of_a_proof_matches_a_file(proof: Proof) -> None:
    for pattern in (*proof.tests, *proof.depends, *proof.subjects):
        assert matching([pattern.removeprefix("!")], PATHS), f"{pattern} of {proof.name} matches no file"


def test_names_are_unique() -> None:
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)


def test_a_mutant_depends_on_its_own_module_and_no_other_one() -> None:
    (proof,) = (proof for proof in PROOFS if proof.name == "mutations_reference")
    case = "tests/mutation/reference_mutants.py::test_a_broken_rule_is_noticed[spark_jobs/semantics/panes.py a < b 1]"
    assert proof.content_patterns(case) == (*proof.depends, "spark_jobs/semantics/panes.py")


def test_the_page_has_the_table_of_the_proofs() -> None:
    page = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    assert table(PROOFS) in page, f"docs/proofs.md needs this table:\n{table(PROOFS)}"
