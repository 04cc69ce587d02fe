"""The licences of the locked packages: each is known and fits, and a new one needs a decision."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
PACKAGES = re.findall(r"^([A-Za-z0-9._-]+)==", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
#: Licences that allow to use and redistribute a package unchanged, as a dependency, in any product.
PERMISSIVE = frozenset(
    {
        *("0BSD", "3-Clause BSD License", "Apache Software License", "Apache-2.0", "BSD License", "BSD-2-Clause"),
        *("BSD-3-Clause", "CC0", "CC0-1.0", "ISC", "ISC License (ISCL)", "MIT", "MIT License", "MIT-0", "MIT-CMU"),
        *("PSF-2.0", "Python Software Foundation License", "The Unlicense (Unlicense)", "Zlib"),
        # These bind changes of the package's own files, and Tidemark changes none.
        *("MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)"),
    }
)
#: Packages whose statement is another, with the reason why they fit.
DECIDED = {
    "axe-playwright-python": "MIT by its project page; the package names no licence. Tests of pages alone use it",
    "psycopg2-binary": "LGPL: used unchanged as a library, and replaceable",
    "text-unidecode": "Artistic or GPL, by choice: the Artistic licence fits",
}


def licences(package: Distribution) -> set[str]:
    """Return the licences that a package states: by expression, by classifiers, or by a name."""
    metadata = package.metadata
    if "License-Expression" in metadata:
        return set(re.split(r" (?:AND|OR) ", metadata["License-Expression"].strip("()")))
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
    if classifiers:
        return {text.rsplit(" :: ", 1)[-1] for text in classifiers}
    names = metadata.get_all("License") or [""]
    return set(re.split(r" (?:AND|OR) ", names[0].strip()))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_locked_package_has_a_licence_that_fits(name: str) -> None:
    unknown = licences(distribution(name)) - PERMISSIVE
    assert bool(unknown) == (name in DECIDED), f"{name}: decide on {', '.join(sorted(unknown)) or 'nothing more'}"


def test_a_decision_is_about_a_locked_package() -> None:
    assert set(PACKAGES) > DECIDED.keys()
