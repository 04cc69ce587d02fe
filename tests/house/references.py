"""References: mentions of rules and sections, links, and names of files and modules that lead nowhere.

- A rule or section is mentioned in the forms of `docs.rule_links`, such as "rule 53" or "semantics B4". It resolves if
  the semantics page has its anchor, `rule-53` or `b4`. A mention in another form never resolves, nor does any mention
  without the page. One number is one place.
- A link of a document is relative. It resolves if the file exists, and its anchor if it has one.
- A file is named in a code span of a document, docstring or comment, by a path that begins with a folder of the
  checkout. Patterns and placeholders (`*`, `<`, `{`, `...`) are left out.
- A module is named in a code span by its full dotted name; what follows the module is a name that it binds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

from docs import rule_links
from tests.house.checkout import Checkout, Module, Place
from tests.house.texts import Text, texts_of_documents, texts_of_module

SEMANTICS_PAGE = f"docs/{rule_links.PAGE}"
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_SPAN = re.compile(r"`+([^`\n]+)`+")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_DOTTED = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_ANCHOR = re.compile(r"""(?:id|name)=["']([\w-]+)["']|\{\s*#([\w-]+)|^\(([\w-]+)\)=""", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_SOURCES = frozenset({"docstring", "comment", "document"})


def unresolved_rules(house: Checkout) -> Iterator[Place]:
    """Yield each mention of a rule or section that has no anchor in the semantics page."""
    anchors = _anchors(house.read(SEMANTICS_PAGE)) if SEMANTICS_PAGE in house.paths else frozenset()
    for text in _texts(house):
        if text.path == SEMANTICS_PAGE:
            continue
        for reference in rule_links.references(text.text):
            if reference.anchor not in anchors:
                yield Place(text.path, text.line_of(reference.start), f"no {reference.anchor}")
        for match in rule_links.other_forms(text.text):
            yield Place(text.path, text.line_of(match.start()), f"{' '.join(match[0].split())} in another form")


def _anchors(source: str) -> frozenset[str]:
    named = {name for names in _ANCHOR.findall(source) for name in names if name}
    return frozenset(named | {_slug(heading) for heading in _HEADING.findall(source)})


def _slug(heading: str) -> str:
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()))


def dead_links(house: Checkout) -> Iterator[Place]:
    """Yield each relative link of a document whose file or anchor does not exist."""
    for document in house.documents:
        prose = _without_code_blocks(document.source)
        for match in _LINK.finditer(prose):
            target = match.group(1)
            if "://" not in target and not target.startswith("mailto:") and not _leads(house, document.path, target):
                yield Place(document.path, prose[: match.start()].count("\n") + 1, f"link to {target}")


def _without_code_blocks(source: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    return re.sub(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$", blank, source, flags=re.MULTILINE | re.DOTALL)


def _leads(house: Checkout, origin: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (house.root / origin).parent / path if path else house.root / origin
    if not file.exists():
        return False
    return not anchor or file.suffix != ".md" or anchor in _anchors(file.read_text(encoding="utf-8"))


def missing_files(house: Checkout) -> Iterator[Place]:
    """Yield each file that a document, docstring or comment names and that does not exist."""
    folders = {path.split("/")[0] for path in house.paths if "/" in path}
    for text, line, span in _spans(house):
        if _PATH.fullmatch(span) and "..." not in span and span.split("/")[0] in folders and "/" in span:
            beside = house.root / PurePosixPath(text.path).parent / span
            if not (house.root / span).exists() and not beside.exists():
                yield Place(text.path, line, f"file {span}")


def missing_modules(house: Checkout) -> Iterator[Place]:
    """Yield each module, or name of a module, that a document, docstring or comment names and that does not exist."""
    modules = {module.dotted: module for module in house.modules}
    packages = {name.rsplit(".", depth)[0] for name in modules for depth in range(1, name.count(".") + 1)}
    roots = {name.split(".")[0] for name in modules if "." in name}
    for text, line, span in _spans(house):
        name = span.removesuffix("()")
        is_module = _DOTTED.fullmatch(name) and name.split(".")[0] in roots and not name.endswith((".py", ".md"))
        if is_module and name not in packages and not _is_bound(name, modules):
            yield Place(text.path, line, f"module {name}")


def _is_bound(name: str, modules: dict[str, Module]) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = modules.get(".".join(parts[:length]))
        if module is not None:
            return length == len(parts) or parts[length] in _bound(module)
    return False


@cache
def _bound(module: Module) -> frozenset[str]:
    names: set[str] = set()
    for node in module.tree.body:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                names.add(name)
            case ast.Import(aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Assign() | ast.AnnAssign():
                names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return frozenset(names)


def _spans(house: Checkout) -> Iterator[tuple[Text, int, str]]:
    for text in _texts(house):
        for match in _SPAN.finditer(text.source):
            yield text, text.line_of(match.start()), match.group(1).strip()


def _texts(house: Checkout) -> Iterator[Text]:
    for text in texts_of_documents(house):
        yield text
    for module in house.modules:
        for text in texts_of_module(module):
            if text.kind in _SOURCES:
                yield text
