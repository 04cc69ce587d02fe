"""Words: hits of the ban list (`banned_words.toml`), by part of the project and kind of place.

Names count where they are defined, once a scope; tests' names are all names that a test file defines. Texts are
docstrings, comments, messages (errors, log lines and other strings of at least three words) and documents. Strings of
tests do not count: they are data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from tests.house.banned import Hit, hits_in_name, hits_in_text
from tests.house.checkout import Checkout, Module, Place
from tests.house.names import names, names_of_template
from tests.house.texts import Text, texts_of_documents, texts_of_module

#: Kinds of texts in the product and in tests.
PRODUCT_TEXTS = frozenset({"docstring", "comment", "error", "log", "text"})
TEST_TEXTS = frozenset({"docstring", "comment"})


def in_names(house: Checkout) -> Iterator[Place]:
    """Yield the hits in names of the product."""
    yield from _in_names(house.product)
    for template in house.templates:
        for name in names_of_template(template):
            yield from (_place(template.path, hit, PurePosixPath(template.path).parts[0]) for hit in hits_in_name(name))


def bare_names(house: Checkout) -> Iterator[Place]:
    """Yield the names of the product that are a bare pronoun or participle."""
    for module in house.product:
        for name in names(module):
            hits = (hit for hit in hits_in_name(name) if hit.ban.names == "whole" or len(name.parts) == 1)
            yield from (_place(module.path, hit, name.name.lstrip("_")) for hit in hits)


def in_test_names(house: Checkout) -> Iterator[Place]:
    """Yield the hits in names of tests."""
    yield from _in_names(house.tests)


def in_texts(*kinds: str) -> Callable[[Checkout], Iterator[Place]]:
    """Make the measure of the product's texts of some kinds."""

    def measure(house: Checkout) -> Iterator[Place]:
        for module in house.product:
            yield from _in_texts((text for text in texts_of_module(module) if text.kind in kinds), module.package)

    return measure


def in_test_texts(house: Checkout) -> Iterator[Place]:
    """Yield the hits in docstrings and comments of tests."""
    for module in house.tests:
        yield from _in_texts((text for text in texts_of_module(module) if text.kind in TEST_TEXTS), module.package)


def in_documents(house: Checkout) -> Iterator[Place]:
    """Yield the hits in documents."""
    for text in texts_of_documents(house):
        yield from _in_texts(iter((text,)), text.path)


def _in_names(modules: tuple[Module, ...]) -> Iterator[Place]:
    for module in modules:
        for name in names(module):
            yield from (_place(module.path, hit, module.package) for hit in hits_in_name(name))


def _in_texts(texts: Iterator[Text], group: str) -> Iterator[Place]:
    for text in texts:
        yield from (_place(text.path, hit, group) for hit in hits_in_text(text))


def _place(path: str, hit: Hit, group: str) -> Place:
    return Place(path, hit.line, hit.word, group)
