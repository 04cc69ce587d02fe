"""The messages of errors, as templates with `{placeholders}`, with the code of each: read from the product's source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.generate.errors import PRODUCT, bases_of, classes
from spark_jobs.code_of_error import OF_CLASSES
from spark_jobs.error_codes import ErrorCode

_ROOT = Path(__file__).resolve().parents[2]
#: Functions that note a problem of a pipeline file: the position of the message, and the code without another one.
_NOTES = {
    "_broken": (2, ErrorCode.FILE_UNREADABLE),
    "refuse": (2, ErrorCode.VALUE_WRONG),
    "Problem": (2, ErrorCode.VALUE_WRONG),
}
#: The module whose function `forbidden` makes all lines about SQL that is not allowed.
_ALLOWED_SQL = "spark_jobs/replay/allowed_sql.py"


@dataclass(frozen=True)
class Message:
    """A message of the product; `code` is None if the call that makes the message names no code."""

    place: str
    template: str
    code: ErrorCode | None


@cache
def messages() -> tuple[Message, ...]:
    """Return all messages that contain words, in the order of the files."""
    paths = [path for folder in PRODUCT for path in sorted((_ROOT / folder).rglob("*.py"))]
    return tuple(message for path in paths for message in _of_module(path))


def _of_module(path: Path) -> Iterator[Message]:
    name, tree = path.relative_to(_ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
    owners = {
        id(inner): node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in classes()
        for inner in ast.walk(node)
    }
    returned = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        for expression, code in _raised(node, owners.get(id(node), ""), name):
            for text in _texts(expression, returned):
                if _has_words(text):
                    yield Message(f"{name}:{getattr(node, 'lineno', 1)}", _template(text), code)


def _raised(node: ast.AST, owner: str, module: str) -> Iterator[tuple[ast.expr, ErrorCode | None]]:
    """Yield the expression of a message with its code, if the syntax node makes one."""
    match node:
        case ast.Call(function, [*arguments], keywords):
            name = ast.unparse(function).rpartition(".")[2]
            kind = owner if ast.unparse(function) in {"cls", "super().__init__"} else name
            keyword_code = next((_code(keyword.value) for keyword in keywords if keyword.arg == "code"), None)
            if kind in classes() and kind not in {"PipelineError", "ProtocolError"} and arguments:
                if kind in _of_class() or kind in {"InputError", "SourceError"}:
                    yield arguments[0], keyword_code or _of_class().get(kind)
            elif name == "Misfit":
                yield arguments[0], _code(arguments[-1])
            elif name in _NOTES and module.startswith("spark_jobs/pipeline") and len(arguments) > _NOTES[name][0]:
                position, default = _NOTES[name]
                yield arguments[position], _code(arguments[-1]) or default
        case ast.Yield(ast.Tuple([_, message])) if module.startswith("spark_jobs/pipeline"):
            missing = ast.unparse(message).lstrip("f'\"").startswith("missing")
            yield message, ErrorCode.KEY_MISSING if missing else ErrorCode.SETTINGS_CONTRADICT
        case ast.Yield(ast.JoinedStr([ast.FormattedValue(), *_]) as message) if module == _ALLOWED_SQL:
            if ": found " in ast.unparse(message):
                yield message, ErrorCode.SQL_REFUSED


def _code(node: ast.expr) -> ErrorCode | None:
    match node:
        case ast.Attribute(ast.Name("ErrorCode"), name):
            return ErrorCode[name]
    return None


@cache
def _of_class() -> Mapping[str, ErrorCode]:
    """Return the code of each class that has one, also by a class that it derives from."""
    own = {kind.__name__: code for kind, code in OF_CLASSES.items()}
    for folder in PRODUCT:
        for path in (_ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name in classes():
                    own.update((node.name, code) for code in _codes_in(node))
    inherited = {name: own[base] for name in classes() for base in bases_of(name) if base in own and name not in own}
    return {**own, **inherited}


def _codes_in(node: ast.ClassDef) -> Iterator[ErrorCode]:
    for inner in node.body:
        match inner:
            case ast.Assign([ast.Name("code")], value) if code := _code(value):
                yield code
            case ast.FunctionDef(name="__init__", args=ast.arguments(kw_defaults=defaults)):
                yield from (code for default in defaults if default and (code := _code(default)))


#: A text with its expressions: (text, expression) pairs, of which one is empty.
_Parts = tuple[tuple[str, str], ...]


def _texts(node: ast.expr, functions: Mapping[str, ast.FunctionDef]) -> Iterator[_Parts]:
    """Yield each text that an expression can have, also by a function of the same module."""
    match node:
        case ast.Constant(str() as text):
            yield ((text, ""),) if text else ()
        case ast.JoinedStr(parts):
            yield tuple(
                (str(part.value), "") if isinstance(part, ast.Constant) else ("", ast.unparse(part.value))  # type: ignore[attr-defined]  # the other part is a FormattedValue
                for part in parts
            )
        case ast.BinOp(left, ast.Add(), right):
            yield from ((*before, *after) for before in _texts(left, functions) for after in _texts(right, functions))
        case ast.IfExp(_, body, other):
            yield from _texts(body, functions)
            yield from _texts(other, functions)
        case ast.Call(ast.Name(name)) if name in functions:
            for inner in ast.walk(functions[name]):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from _texts(inner.value, {})


def _has_words(parts: _Parts) -> bool:
    return sum(len(word) > 1 and word.isalpha() for text, _ in parts for word in text.split()) > 1


def _template(parts: _Parts) -> str:
    """Return the template: a placeholder has the last name of its expression."""
    return "".join(text or f"{{{_name(expression)}}}" for text, expression in parts)


def _name(expression: str) -> str:
    names = [
        node for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name | ast.Attribute)
    ]
    first = names[0] if names else None
    return first.attr if isinstance(first, ast.Attribute) else first.id if isinstance(first, ast.Name) else "..."
