"""Code that a pipeline file names: a class of a custom watermark, and functions that are not Spark's own.

An installation whose pipeline files come from people who may not run code on it sets TIDEMARK_ALLOW_CODE to `no`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.errors import Problem, RefusedError
from spark_jobs.pipeline.model import Strategy
from spark_jobs.pipeline.review import Review

ALLOW_CODE = "TIDEMARK_ALLOW_CODE"

_ALLOWED = {"yes": True, "no": False}


def is_allowed(environ: Mapping[str, str]) -> bool:
    """Return whether pipeline files may name code. Raises RefusedError for another value than `yes` or `no`."""
    text = environ.get(ALLOW_CODE) or "yes"
    if text not in _ALLOWED:
        raise RefusedError(f"{ALLOW_CODE} is '{text}'; write {' or '.join(_ALLOWED)}", code=ErrorCode.CODE_FORBIDDEN)
    return _ALLOWED[text]


def refused_code(review: Review, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each watermark strategy that runs a class, if code is not allowed."""
    strategies = [key for key, value in review.values.items() if value is Strategy.CUSTOM]
    try:
        reason = "" if is_allowed(environ) else f"custom runs a class, and {ALLOW_CODE} is no; use another strategy"
    except RefusedError as refused:
        reason = str(refused)
    if reason:
        yield from (Problem(review.place_of(key), key, reason, ErrorCode.CODE_FORBIDDEN) for key in strategies)
