"""Null-safe joins of frames by columns of one name: null equals null, as in the keys of joins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

#: The suffix of a column of the second frame that the first one has too.
OTHER = "_of_other"


def null_safe_join(
    frame: DataFrame, other: DataFrame, names: Sequence[str], also: Column | None = None, how: str = "inner"
) -> DataFrame:
    """Join two frames by the columns `names`, where null equals null, and `also`; return each of these columns once.

    A column of both that is not in `names` has the suffix `OTHER` in `other`, in `also` and in the result. One of
    `names` and `also` is needed.
    """
    shared = {name: name + OTHER for name in other.columns if name in frame.columns}
    meets = [F.col(name).eqNullSafe(F.col(shared[name])) for name in names] + ([] if also is None else [also])
    joined = frame.join(other.withColumnsRenamed(shared), reduce(Column.__and__, meets), how)
    return joined.drop(*(shared[name] for name in names))
