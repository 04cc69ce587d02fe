"""The glossary names the module of each term that belongs to Tidemark, and each module exists and binds the names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TERMS = re.findall(
    r"^(\S.*)\n:   ((?:.+\n)+)", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
)
MODULE = re.compile(r"`((?:spark_jobs|expectations|tidemark_airflow)(?:\.\w+)+)`")
CLASSES = re.compile(r"((?:`\w+`(?:,| and)? )+)in `([\w.]+)`")


def module_of(name: str) -> tuple[ast.Module, str] | None:
    """Return the module that a dotted name begins with, and the name in it, which may be empty."""
    path, _, last = name.rpartition(".")
    for dotted, bound in ((name, ""), (path, last)):
        file = ROOT / f"{dotted.replace('.', '/')}.py"
        if file.is_file():
            return ast.parse(file.read_text(encoding="utf-8")), bound
    return None


def binds(module: ast.Module, name: str) -> bool:
    targets = {
        part.id for node in module.body if isinstance(node, ast.Assign | ast.AnnAssign) for part in ast.walk(node)
        if isinstance(part, ast.Name)
    }  # fmt: skip
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return name in targets | defined


def exists(name: str) -> bool:
    place = module_of(name)
    return place is not None and (not place[1] or binds(*place))


def test_the_glossary_has_terms() -> None:
    """A pattern that matches nothing would pass the tests below."""
    assert len(TERMS) > 100
    assert len([name for _, text in TERMS for name in MODULE.findall(text)]) > 50


@pytest.mark.parametrize(("term", "text"), TERMS, ids=[term for term, _ in TERMS])
def test_the_modules_of_a_term_exist(term: str, text: str) -> None:
    assert [name for name in MODULE.findall(text) if not exists(name)] == []
    classes = [f"{module}.{name}" for names, module in CLASSES.findall(text) for name in re.findall(r"\w+", names)]
    assert [name for name in classes if not name.endswith(".and") and not exists(name)] == []


def test_each_term_of_tidemark_names_its_module_or_another_term() -> None:
    own = [(term, text) for term, text in TERMS if "**(T)**" in term]
    assert [term for term, text in own if not MODULE.search(text) and "See *" not in text] == []


def test_the_terms_are_in_alphabetical_order() -> None:
    terms = [re.sub(r"[^a-z ]", "", re.split(r",| \*\*", term)[0].lower()) for term, _ in TERMS]
    assert terms == sorted(set(terms))


def test_a_lost_module_or_name_is_detected() -> None:
    assert exists("spark_jobs.replay.ground.Ground")
    assert not exists("spark_jobs.replay.ground.Lost")
    assert not exists("spark_jobs.replay.lost")
