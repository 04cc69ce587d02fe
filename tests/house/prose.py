"""Prose: the lint of the words and sentences of code and documents. `make lint` runs it.

    python -m tests.house.prose            fail if a file has more or fewer findings than its allowance
    python -m tests.house.prose PATH...    print all findings of these files or folders
    python -m tests.house.prose --lower    write lower allowances, after a text was improved
    python -m tests.house.prose --reset    write the present number of each file, after files were moved

Rules:

- ban list (`banned_words.toml`): names that a file or template defines, docstrings, comments, messages of the product,
  documents;
- a sentence has at most 25 words, a paragraph at most 80: public docstrings and documents;
- a public function's docstring begins with a verb ("Return the ..."), not with an article, pronoun or question word.

Code blocks, code spans, tables, link targets and front matter are no prose. Strings of tests are data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.house.allowance import Allowance, counts
from tests.house.banned import hits_in_name, hits_in_text
from tests.house.checkout import Checkout, Place
from tests.house.names import names, names_of_template
from tests.house.sentences import Passage, paragraphs, sentences
from tests.house.texts import Text, texts_of_documents, texts_of_module
from tests.house.words import PRODUCT_TEXTS, TEST_TEXTS

LONGEST_SENTENCE = 25
LONGEST_PARAGRAPH = 80
#: A function's docstring that begins with one of these words has no verb in its first place.
_NO_VERBS = frozenset({
    "a", "all", "an", "any", "each", "every", "how", "if", "it", "no", "of", "one", "that", "the", "these", "this",
    "those", "what", "when", "where", "whether", "which", "who", "why",
})  # fmt: skip
_LINES_SHOWN = 60


def findings(house: Checkout) -> Iterator[Place]:
    """Yield all findings of a checkout, without any allowance."""
    for module in house.modules:
        for name in names(module):
            yield from (Place(module.path, hit.line, str(hit)) for hit in hits_in_name(name))
        kinds = TEST_TEXTS if module.path.startswith("tests/") else PRODUCT_TEXTS
        for text in texts_of_module(module):
            if text.kind in kinds:
                yield from _in_text(text)
    for template in house.templates:
        for name in names_of_template(template):
            yield from (Place(template.path, hit.line, str(hit)) for hit in hits_in_name(name))
    for text in texts_of_documents(house):
        yield from _in_text(text)


def _in_text(text: Text) -> Iterator[Place]:
    yield from (Place(text.path, hit.line, str(hit)) for hit in hits_in_text(text))
    if text.kind == "document" or (text.kind == "docstring" and text.is_public):
        yield from _long_ones(text)
    if text.kind == "docstring" and text.is_public and text.is_action:
        yield from _first_word(text)


def _long_ones(text: Text) -> Iterator[Place]:
    for paragraph in paragraphs(text):
        if paragraph.words > LONGEST_PARAGRAPH:
            message = f"paragraph of {paragraph.words} words, at most {LONGEST_PARAGRAPH}: divide it, or make a list"
            yield Place(text.path, text.line_of(paragraph.position), message)
        for sentence in sentences(paragraph):
            if sentence.words > LONGEST_SENTENCE:
                message = (
                    f"sentence of {sentence.words} words, at most {LONGEST_SENTENCE}: '{_start(text, sentence)} ...'"
                )
                yield Place(text.path, text.line_of(sentence.position), message)


def _start(text: Text, sentence: Passage) -> str:
    return " ".join(text.source[sentence.position :].split()[:6])


def _first_word(text: Text) -> Iterator[Place]:
    words = text.text.split(maxsplit=1)
    if words and not text.name.startswith("test_") and words[0].strip(",:").lower() in _NO_VERBS:
        yield Place(text.path, text.line, f"docstring begins with '{words[0]}': begin with a verb (\"Return the ...\")")


def main(arguments: Sequence[str] | None = None) -> int:
    """Lint the checkout; returns 1 if a file does not have its allowed number of findings."""
    options = _parser().parse_args(arguments)
    root = options.root.resolve()
    every = sorted(findings(Checkout(root)))
    allowance = Allowance.read(root)
    if options.paths:
        return _print_all(every, options.paths, root)
    if options.lower:
        allowance.lowered(counts(every)).write(root)
    elif options.reset:
        return _reset(allowance, every, root)
    return _compare(allowance.lowered(counts(every)) if options.lower else allowance, every)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.house.prose", description="Lint words and sentences.")
    parser.add_argument("paths", nargs="*", type=Path, help="print all findings of these files or folders")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the checkout to lint")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--lower", action="store_true", help="lower the allowances to what is left")
    change.add_argument("--reset", action="store_true", help="write present numbers after moves; the sum may not grow")
    return parser


def _print_all(every: Sequence[Place], paths: Sequence[Path], root: Path) -> int:
    wanted_paths = [path.resolve() for path in paths]
    listed = [place for place in every if any((root / place.path).is_relative_to(path) for path in wanted_paths)]
    sys.stdout.write("".join(f"{place}\n" for place in listed))
    return 1 if listed else 0


def _reset(allowance: Allowance, every: Sequence[Place], root: Path) -> int:
    if len(every) > allowance.sum and allowance.files:
        sys.stderr.write(
            f"--reset: {len(every)} findings are more than the {allowance.sum} allowed; --reset is for moves\n"
        )
        return 1
    Allowance(counts(every)).write(root)
    return 0


def _compare(allowance: Allowance, every: Sequence[Place]) -> int:
    too_many, too_high = allowance.differences(counts(every))
    lines = [str(place) for place in every if place.path in too_many]
    for path, (count, allowed) in too_many.items():
        lines.append(f"{path}: {count} findings, {allowed} allowed")
    if too_high:
        lines += [f"{path}: {count} findings, {allowed} allowed" for path, (count, allowed) in too_high.items()]
        lines.append("lower the allowance: run `python -m tests.house.prose --lower`")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
