"""Calls of functions in a SQL expression, with their places in its text.

    name ( [DISTINCT | ALL] arguments ) [WITHIN GROUP (...)] [FILTER (WHERE ...)] [IGNORE NULLS | RESPECT NULLS]

The name may stand in backticks. Texts and comments are passed over. A call inside another call of these functions is
passed over: an aggregate contains no other aggregate. So is a call with OVER, which is no aggregate of a pane.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<skipped>\s+|--(?:\\\n|[^\r\n])*|/\*.*?\*/)
    |(?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`)
    |(?P<number>\d[\w.]*)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Call:
    """One call: its name in lower case, its arguments as SQL, and its clauses; None or False without a clause.

    `start` and `stop` are its place in the text, with all clauses. Texts of arguments and clauses end with a token, so
    no comment goes on behind them.
    """

    name: str
    arguments: tuple[str, ...]
    start: int
    stop: int
    is_distinct: bool = False
    condition: str | None = None
    within: str | None = None
    ignores_nulls: bool = False

    def value(self, number: int = 0) -> str:
        """Return an argument as SQL, null in rows that do not fulfil the condition.

        Spark computes what several aggregates have in common before it looks at FILTER. A branch of CASE is computed
        in its turn only.
        """
        argument = self.arguments[number]
        return argument if self.condition is None else f"case when ({self.condition}) then ({argument}) end"

    @property
    def sorted_by(self) -> tuple[str, str] | None:
        """The value that `WITHIN GROUP (ORDER BY ...)` sorts by, and how; None for no value or several."""
        tokens = _tokens(self.within or "")
        words = [token.text.lower() for token in tokens]
        if words[:2] != ["order", "by"] or len(_separated(tokens)) > 1:
            return None
        ends = len(words)
        if words[-2:] in (["nulls", "first"], ["nulls", "last"]):
            ends -= 2
        if words[ends - 1] in ("asc", "desc"):
            ends -= 1
        return _text(self.within or "", tokens[2:ends]), " ".join(words[ends:])


class _Token(NamedTuple):
    text: str
    start: int
    stop: int
    #: In lower case; empty for what is no name.
    name: str


def calls(sql: str, names: Collection[str]) -> list[Call]:
    """Return the outermost calls of functions with one of the `names`, in the order of the text."""
    tokens = _tokens(sql)
    outermost: list[Call] = []
    at = 0
    while at < len(tokens):
        call = _call(sql, tokens, at) if _begins(tokens, at, names) else None
        if call is None:
            at += 1
            continue
        outermost.append(call)
        at = next((i for i, token in enumerate(tokens) if token.start >= call.stop), len(tokens))
    return outermost


def replaced(sql: str, names: Collection[str], replacement: Callable[[Call], str | None]) -> str:
    """Return the expression with each call of `calls` replaced; None leaves a call as it is."""
    parts, at = [], 0
    for call in calls(sql, names):
        parts += [sql[at : call.start], replacement(call) or sql[call.start : call.stop]]
        at = call.stop
    return "".join([*parts, sql[at:]])


def _tokens(sql: str) -> list[_Token]:
    return [
        _Token(match.group(), *match.span(), _name(match))
        for match in _TOKEN.finditer(sql)
        if match.lastgroup != "skipped"
    ]


def _name(match: re.Match[str]) -> str:
    text = match.group()
    is_name = match.lastgroup == "word" or text.startswith("`")
    return text.strip("`").lower() if is_name else ""


def _begins(tokens: list[_Token], at: int, names: Collection[str]) -> bool:
    is_call = at + 1 < len(tokens) and tokens[at + 1].text == "("
    return is_call and tokens[at].name in names and not (at and tokens[at - 1].text == ".")


def _call(sql: str, tokens: list[_Token], at: int) -> Call | None:
    """Return the call that begins at a token; None for text that no parser would read, and with OVER."""
    closes = _closing(tokens, at + 1)
    if closes is None:
        return None
    arguments, is_distinct, ignores = _arguments(sql, tokens[at + 2 : closes])
    clauses: dict[str, str] = {}
    after = closes + 1
    for name, words in (("within", ("within", "group")), ("condition", ("filter",))):
        opens = after + len(words)
        if not (_are(tokens, after, words) and opens < len(tokens) and tokens[opens].text == "("):
            continue
        ends = _closing(tokens, opens)
        if ends is None:
            return None
        inside = tokens[opens + 1 : ends]
        clauses[name] = _text(sql, inside[1:] if inside and inside[0].text.lower() == "where" else inside)
        after = ends + 1
    for word in ("ignore", "respect"):
        if _are(tokens, after, (word, "nulls")):
            ignores, after = word == "ignore", after + 2
    if _are(tokens, after, ("over",)):
        return None
    return Call(
        tokens[at].name,
        arguments,
        tokens[at].start,
        tokens[after - 1].stop,
        is_distinct,
        clauses.get("condition"),
        clauses.get("within"),
        ignores,
    )


def _arguments(sql: str, inside: list[_Token]) -> tuple[tuple[str, ...], bool, bool]:
    """Return the arguments as text, whether they are distinct, and whether nulls are ignored."""
    is_distinct = bool(inside) and inside[0].text.lower() == "distinct"
    if is_distinct or (inside and inside[0].text.lower() == "all"):
        inside = inside[1:]
    ignores = len(inside) > 2 and [token.text.lower() for token in inside[-2:]] == ["ignore", "nulls"]
    if ignores:
        inside = inside[:-2]
    return tuple(_text(sql, part) for part in _separated(inside) if part), is_distinct, ignores


def _separated(tokens: list[_Token]) -> list[list[_Token]]:
    """Return the tokens between the commas outside of brackets."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += _DEPTH.get(token.text, 0)
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _text(sql: str, tokens: list[_Token]) -> str:
    """Return the text from the first of the tokens to the last."""
    return sql[tokens[0].start : tokens[-1].stop] if tokens else ""


def _closing(tokens: list[_Token], at: int) -> int | None:
    """Return the index of the token that closes the bracket at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += _DEPTH.get(tokens[i].text, 0)
        if depth == 0:
            return i
    return None


def _are(tokens: list[_Token], at: int, words: tuple[str, ...]) -> bool:
    return tuple(token.text.lower() for token in tokens[at : at + len(words)]) == words
