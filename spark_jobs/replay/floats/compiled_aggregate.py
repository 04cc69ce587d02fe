"""A compiled aggregate: an aggregate of the pipeline file as SQL that has the same bits in every order of the rows.

If its parts can be merged, the aggregate is a template over aggregates of one argument. A pane then keeps the parts,
and not the rounded result, and late panes continue them.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.replay.floats.array_sum import let
from spark_jobs.semantics.spec import Aggregate

#: A template that names its parts more often than this is computed over a struct of the parts.
_OFTEN = 20


@dataclass(frozen=True)
class CompiledAggregate(Aggregate):
    """An aggregate and its parts, as (function, argument); no parts: it is computed from all rows of a pane.

    `{0}`, `{1}` ... in `result` stand for the parts.
    """

    parts: tuple[tuple[str, str], ...] = ()
    result: str = ""

    @classmethod
    def of_parts(cls, name: str, parts: tuple[tuple[str, str], ...], result: str) -> CompiledAggregate:
        """Return the aggregate of these parts."""
        return cls(name, over_parts(parts, result), parts, result)


def over_parts(parts: tuple[tuple[str, str], ...], result: str) -> str:
    """Return a template over aggregates as SQL."""
    texts = [f"{function}({argument})" if function else argument for function, argument in parts]
    if result.count("{") <= _OFTEN:
        return result.format(*texts)
    fields = ", ".join(f"'p{i}', {text}" for i, text in enumerate(texts))
    return let(f"named_struct({fields})", "z", result.format(*(f"z.p{i}" for i in range(len(texts)))))
