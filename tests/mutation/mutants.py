"""A mutant is one module with one place broken: a comparison, a step of 1, a sum, an extreme, a condition.

    a < b          a <= b      and back; > and >=, == and !=, in and not in alike
    a - 1          a           also F.lit(1), and sums
    a + b          a - b       and back
    min(a, b)      max(a, b)   and back; greatest and least alike
    a and b        a or b      and back; & and | of columns alike
    not a          a           also ~a of columns

What no such step breaks, the order of two steps or what a rule looks at, is written down by hand in `BY_HAND`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_BOTH: dict[type[ast.operator], type[ast.operator]] = {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
_EXTREMES = {"min": "max", "max": "min", "greatest": "least", "least": "greatest"}

#: Module, its text, the mutant's text instead, and the rule that the mutant breaks.
BY_HAND = (
    (
        "spark_jobs/semantics/streaming_job.py",
        """            if event.is_kept:
                self._process(event)
            self._sources[event.source].on_event(event.partition, event.row, event.ts)
""",
        """            self._sources[event.source].on_event(event.partition, event.row, event.ts)
            if event.is_kept:
                self._process(event)
""",
        "a row is judged by the watermark that it carries itself (rule 17)",
    ),
    (
        "spark_jobs/semantics/streaming_job.py",
        """            if event.is_kept:
                self._process(event)
            self._sources[event.source].on_event(event.partition, event.row, event.ts)
            self._end_emission()
            self._emit(self._emissions.after(event.clock_us))
""",
        """            self._sources[event.source].on_event(event.partition, event.row, event.ts)
            self._end_emission()
            self._emit(self._emissions.after(event.clock_us))
            if event.is_kept:
                self._process(event)
""",
        "a row is judged by the watermark after it (rule 17)",
    ),
    (
        "spark_jobs/semantics/sessions/session_operator.py",
        "lateness = self._judge(merge.hull)",
        "lateness = self._judge(TimeWindow(ts, ts + self._gap_ms))",
        "lateness is judged before the merge (rule 82)",
    ),
    (
        "spark_jobs/semantics/panes/window_operator.py",
        "before, self._watermark = self._watermark, watermark",
        "before = self._watermark",
        "a pane shows the watermark before the one that fires it (rule 61)",
    ),
    (
        "spark_jobs/semantics/watermark/multiplexer.py",
        "candidate = min(active) if active else max(",
        "candidate = min(active) if active else min(",
        "all idle: the least, not the highest (rule 22)",
    ),
    (
        "spark_jobs/semantics/watermark/multiplexer.py",
        "        self.is_idle = False\n        is_news",
        "        is_news",
        "a watermark leaves a partition idle (rule 24)",
    ),
    (
        "spark_jobs/replay/panes/retractions.py",
        "F.lead(F.struct(",
        "F.lag(F.struct(",
        "a pane is withdrawn by the one before it",
    ),
    (
        "spark_jobs/replay/panes/per_epoch.py",
        'F.coalesce("emitted_us", "end_us")',
        'F.col("emitted_us")',
        "late panes that no emission ends do not fire when the input ends",
    ),
    (
        "spark_jobs/replay/panes/pane_columns.py",
        "if name in named - source_names",
        "if name in named",
        "a column of the source is taken for the firing's",
    ),
    (
        "spark_jobs/replay/windows/late_events.py",
        "late = late.limit(0)",
        "late = late.limit(100)",
        "dropped rows stand in the late table",
    ),
    (
        "spark_jobs/replay/sessions/session_scan.py",
        "allowed_lateness_ms=declared.lateness_ms",
        "allowed_lateness_ms=declared.allowed_lateness_ms",
        "sessions that take late rows for ever close",
    ),
    (
        "spark_jobs/replay/panes/late_panes.py",
        "orderBy(_IS_LATE, c.POSITION, c.WATERMARK_MS)",
        "orderBy(_IS_LATE, c.POSITION)",
        "of two identical rows either one comes first",
    ),
)


@dataclass(frozen=True)
class Mutant:
    """A broken module: `source` is its text, `what` names the change, from which line to which."""

    path: str
    line: int
    last_line: int
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def mutants(path: Path, root: Path) -> Iterator[Mutant]:
    """Give every mutant of a module, in the order of its lines."""
    name, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
    for module, old, new, change in BY_HAND:
        if module == name:
            if text.count(old) != 1:
                raise LookupError(
                    f"{name}: asked to break {change!r}, found its text {text.count(old)} times, not once"
                )
            line = text[: text.index(old)].count("\n") + 1
            yield Mutant(name, line, line + old.rstrip("\n").count("\n"), change, text.replace(old, new))
    tree = ast.parse(text)
    for node in sorted(_expressions(tree), key=lambda node: (node.lineno, node.col_offset)):
        before = ast.unparse(node)
        for changed in _changes(node):
            after = ast.unparse(changed)
            change = f"{before} -> {after}"
            yield Mutant(name, node.lineno, node.end_lineno or node.lineno, change, _replaced(text, node, f"({after})"))


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """All expressions but those of types."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns") or (isinstance(tree, ast.Assign) and _is_type(tree.value)):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                if isinstance(node, ast.expr):
                    yield node
                yield from _expressions(node)


def _is_type(value: ast.expr) -> bool:
    """Whether an assignment's value is an alias of types, such as `A | B`."""
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr) and isinstance(value.left, ast.Subscript)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if other := _COMPARISONS.get(type(operator)):
                yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)
    elif isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        yield from _other_operator(node)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from _other_extreme(node)


def _other_operator(node: ast.BinOp) -> Iterator[ast.expr]:
    if type(node.op) in _SUMS:
        if _is_one(node.right):
            yield node.left
        yield ast.BinOp(node.left, _SUMS[type(node.op)](), node.right)
    elif type(node.op) in _BOTH:
        yield ast.BinOp(node.left, _BOTH[type(node.op)](), node.right)


def _other_extreme(node: ast.Call) -> Iterator[ast.expr]:
    called = node.func
    if isinstance(called, ast.Name) and called.id in _EXTREMES:
        yield ast.Call(ast.Name(_EXTREMES[called.id]), node.args, node.keywords)
    if isinstance(called, ast.Attribute) and called.attr in _EXTREMES:
        yield ast.Call(ast.Attribute(called.value, _EXTREMES[called.attr]), node.args, node.keywords)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_one(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "lit":
        return len(node.args) == 1 and _is_one(node.args[0])
    return isinstance(node, ast.Constant) and node.value == 1


def _replaced(text: str, node: ast.expr, new: str) -> str:
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    whole = text.encode()
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    return (whole[:begin] + new.encode() + whole[end:]).decode()
