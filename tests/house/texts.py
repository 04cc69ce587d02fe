"""Texts: the prose of a checkout, with the line that each character is on.

- docstrings, as written;
- comments: lines that follow each other are one text, and a comment behind code is one;
- messages: strings of at least `FEWEST_WORDS` words that are no docstring. An error's text is in a `raise` statement or
  in a call of `...Error`. A log line is an argument of a logging or printing call. All others are texts;
- documents: each paragraph, heading and list item of Markdown. Code blocks, tables, HTML and front matter are no prose.

`text` is `source` with code spans, link targets and list marks masked. Each character stays at its place: a position in
`text` is a position in `source`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from markdown_it import MarkdownIt

from tests.house.checkout import Checkout, Document, Module
from tests.house.syntax import Documented, docstring_nodes, docstring_of

FEWEST_WORDS = 3
MASK = "X"
_LOGS = frozenset({
    "critical", "debug", "echo", "error", "exception", "info", "log", "print", "secho", "warn", "warning", "write",
})  # fmt: skip
_CODE_SPAN = re.compile(r"(`+)(?:(?!`).)+?\1(?!`)", re.DOTALL)
_LINK_TARGET = re.compile(r"(?<=\])\([^)\s]*(?:\s+\"[^\"]*\")?\)|(?<=\])\[[^\]]*\]|<[^>\s][^>]*>|https?://\S+")
_LIST_MARK = re.compile(r"^[\s>]*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?|^[\s>]*#{1,6}\s|^\s*>[\s>]*", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])[A-Za-z]+(?![\w.(])")


@dataclass(frozen=True)
class Text:
    """One text: `name` is what a docstring documents, empty for a module."""

    path: str
    kind: str
    line: int
    source: str
    name: str = ""
    is_public: bool = False
    is_action: bool = False
    is_block: bool = True

    @cached_property
    def text(self) -> str:
        """The prose alone."""
        masked = _CODE_SPAN.sub(_letters, self.source)
        if self.kind == "document":
            masked = _LIST_MARK.sub(_blanks, _LINK_TARGET.sub(_blanks, masked))
        return masked

    def line_of(self, position: int) -> int:
        """Return the line of the file that a position of the text is on."""
        return self.line + (self.source.count("\n", 0, position) if self.is_block else 0)


def _letters(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", MASK, match.group())


def _blanks(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


@cache
def texts_of_module(module: Module) -> tuple[Text, ...]:
    """Return the docstrings, comments and messages of a Python file."""
    return (*_docstrings(module), *_comments(module), *_messages(module))


def _docstrings(module: Module) -> Iterator[Text]:
    is_public_file = not module.name.startswith("_") or module.name.startswith("__")
    yield from _docstrings_in(module, module.tree, "", is_public=is_public_file)


def _docstrings_in(module: Module, node: Documented, name: str, *, is_public: bool) -> Iterator[Text]:
    literal = docstring_of(node)
    if literal is not None:
        is_action = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
        yield Text(module.path, "docstring", literal.lineno, str(literal.value), name, is_public, is_action)
    for part in node.body:
        if isinstance(part, Documented):
            inner = is_public and not part.name.startswith("_") and not isinstance(node, ast.FunctionDef)
            yield from _docstrings_in(module, part, part.name, is_public=inner)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        "property" in ast.unparse(decorator) or "fixture" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def _comments(module: Module) -> Iterator[Text]:
    strings = _spans_of_strings(module)
    block: list[tuple[int, str]] = []
    for number, line in enumerate(module.source.split("\n"), 1):
        start = _comment_start(line, strings[number]) if "#" in line else None
        is_alone = start is not None and not line[:start].strip()
        if block and not is_alone:
            yield _comment(module, block)
            block = []
        if start is not None:
            text = line[start:].lstrip("#: ")
            if is_alone:
                block.append((number, text))
            else:
                yield _comment(module, [(number, text)])
    if block:
        yield _comment(module, block)


def _comment(module: Module, block: list[tuple[int, str]]) -> Text:
    return Text(module.path, "comment", block[0][0], "\n".join(text for _, text in block))


def _spans_of_strings(module: Module) -> dict[int, list[tuple[int, int]]]:
    """Map each line to the columns, in bytes, that strings cover."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for node in module.nodes:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            last = node.end_lineno or node.lineno
            for line in range(node.lineno, last + 1):
                begins = node.col_offset if line == node.lineno else 0
                ends = (node.end_col_offset or 0) if line == last else len(module.source)
                spans[line].append((begins, ends))
    return spans


def _comment_start(line: str, strings: Iterable[tuple[int, int]]) -> int | None:
    for mark in re.finditer("#", line):
        column = len(line[: mark.start()].encode())
        if not any(begins <= column < ends for begins, ends in strings):
            return mark.start()
    return None


def _messages(module: Module) -> Iterator[Text]:
    documented = docstring_nodes(module)
    errors, logs = _strings_of_calls(module)
    parts = {part for node in module.nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in module.nodes:
        if node in documented or (node in parts and not isinstance(node, ast.JoinedStr)):
            continue
        text = _string(node)
        if text is not None and len(_WORD.findall(text)) >= FEWEST_WORDS:
            kind = "error" if node in errors else "log" if node in logs else "text"
            yield Text(module.path, kind, node.lineno, text, is_block=False)  # type: ignore[attr-defined]  # a string


def _string(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else MASK for part in values)
    return None


def _strings_of_calls(module: Module) -> tuple[set[ast.AST], set[ast.AST]]:
    errors: set[ast.AST] = set()
    logs: set[ast.AST] = set()
    for node in module.nodes:
        match node:
            case ast.Raise():
                errors |= set(ast.walk(node))
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name)) if name.endswith("Error"):
                errors |= set(ast.walk(node))
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name)) if name in _LOGS:
                logs |= set(ast.walk(node))
    return errors, logs


def texts_of_documents(house: Checkout) -> Iterator[Text]:
    """Yield the paragraphs, headings and list items of all Markdown files."""
    for document in house.documents:
        yield from texts_of_document(document)


@cache
def texts_of_document(document: Document) -> tuple[Text, ...]:
    """Return the paragraphs, headings and list items of one Markdown file."""
    source = _without_front_matter(document.source)
    lines = source.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    is_table = False
    texts = []
    for token in tokens:
        if token.type in {"table_open", "table_close"}:
            is_table = token.type == "table_open"
        if token.type == "inline" and token.map and not is_table:
            first, last = token.map
            texts.append(Text(document.path, "document", first + 1, "\n".join(lines[first:last]), is_public=True))
    return tuple(texts)


def _without_front_matter(source: str) -> str:
    """Blank the block between two lines `---` at the beginning."""
    block = re.match(r"---\n.*?\n---\n", source, re.DOTALL)
    return source if block is None else "\n" * block.group().count("\n") + source[block.end() :]
