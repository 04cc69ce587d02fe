"""Which cases of a family belong to `make test`, which judge broken engines, and which are left to the long runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def sampled(*values: object, quick: bool, judges: bool = False, id: str | None = None) -> ParameterSet:  # noqa: A002
    """Return a case of a parametrized test: `make test` runs it if it is `quick`, `make soak` runs every other case.

    A case that `judges` takes part in mutation runs even if it is not quick: more judges notice more broken rules.
    """
    marks = () if quick else (pytest.mark.soak, pytest.mark.judge) if judges else (pytest.mark.soak,)
    return pytest.param(*values, marks=marks, id=id)
