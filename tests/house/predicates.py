"""Predicates: questions about a pipeline that have more than one definition.

A predicate returns `bool` and takes a pipeline or a part of one (`SUBJECTS`), or is a method of such a class. Two
predicates are the same question in two cases:

- their names agree without `is_`, `are_`, `has_`, `have_`, `can_` and leading underscores;
- each only returns an expression, and the expressions agree without the paths to their attributes.
  `pipeline.windows.kind == "sliding"` agrees with `windows.kind == "sliding"`.

Every definition of such a question is one place. The other measure counts all predicates.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.house.checkout import Checkout, Place
from tests.house.syntax import Definition, definitions, is_single_return

SUBJECTS = frozenset({
    "Emit", "Join", "JoiningPipeline", "Pipeline", "Quality", "ReplayOrder", "ReplaySpec", "Schedule", "Source",
    "Trigger", "UnitedSource", "Watermark", "Windows",
})  # fmt: skip
_PREFIX = re.compile(r"^_*(?:is|are|has|have|can)_|^_+")
_CONSTANT_NAME = re.compile(r"\b[A-Z][A-Z_]+\b")


def predicates(house: Checkout) -> Iterator[Place]:
    """Yield each predicate about a pipeline."""
    for place, _ in _predicates(house):
        yield place


def defined_again(house: Checkout) -> Iterator[Place]:
    """Yield each predicate whose question another predicate has too."""
    by_question: dict[str, set[Place]] = defaultdict(set)
    for place, predicate in _predicates(house):
        for question in _questions(predicate):
            by_question[question].add(place)
    again = {place: question for question, places in by_question.items() if len(places) > 1 for place in places}
    for place in sorted(again):
        yield Place(place.path, place.line, f"{place.text}, again: {again[place]}", place.group)


def _predicates(house: Checkout) -> Iterator[tuple[Place, Definition]]:
    for module in house.product:
        for predicate in definitions(module):
            if _is_predicate(predicate):
                yield Place(module.path, predicate.node.lineno, predicate.name, module.package), predicate


def _is_predicate(predicate: Definition) -> bool:
    returns = predicate.node.returns
    if not (isinstance(returns, ast.Name) and returns.id == "bool") or predicate.name.startswith("__"):
        return False
    arguments = [*predicate.node.args.posonlyargs, *predicate.node.args.args, *predicate.node.args.kwonlyargs]
    types = {
        part.id
        for arg in arguments
        if arg.annotation
        for part in ast.walk(arg.annotation)
        if isinstance(part, ast.Name)
    }
    return bool(types & SUBJECTS) or predicate.owner in SUBJECTS


def _questions(predicate: Definition) -> Iterator[str]:
    yield f"named {_PREFIX.sub('', predicate.name)}"
    returned = is_single_return(predicate.node)
    if returned is not None and not isinstance(returned, ast.Constant | ast.Name):
        yield _normal(returned)


def _normal(node: ast.expr) -> str:
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", ast.unparse(node))
    return _CONSTANT_NAME.sub(lambda constant: repr(constant.group().lower()), text)
