"""The import path: the command imports Tidemark's own packages, also beside a user's folder of the same name."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import spark_jobs
from spark_jobs.runtime.errors import RuntimeSetupError

#: The package that is installed beside `spark_jobs` and that runs import.
_BESIDE = "expectations"


def demote_working_directory(*, code_is_allowed: bool) -> None:
    """Search the working directory, which `python -m` puts first, after all installed packages.

    If pipeline files may not name code, it is not searched at all. A checkout that is not installed stays first.
    """
    with suppress(FileNotFoundError):
        here = Path.cwd()
        if sys.flags.safe_path or here == _root() or sys.path[0] not in ("", str(here)):
            return
        del sys.path[0]
        if code_is_allowed:
            sys.path.append(str(here))


def require_own_packages() -> None:
    """Raise RuntimeSetupError if another package `expectations` comes before Tidemark's own."""
    own = _root() / _BESIDE / "__init__.py"
    spec = find_spec(_BESIDE)
    origin = spec.origin if spec and spec.origin else None
    if origin is None or Path(origin).resolve() != own.resolve():
        raise RuntimeSetupError.foreign_package(_BESIDE, origin or "no file", str(own))


def _root() -> Path:
    """Return the folder that Tidemark's packages are installed in."""
    return Path(spark_jobs.__file__).parents[1]
