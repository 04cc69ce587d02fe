"""Write the generated pages and pictures, or with `--check` compare them with the code.

python -m docs.generate            write the pages and pictures
python -m docs.generate --check    print the differences; exit code 1 if a page differs
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from docs.generate.pages import COMMAND, FILES, FOLDER, render, stale


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the pages; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Generate pages from the code and the examples.")
    parser.add_argument("--check", action="store_true", help="compare and write nothing; exit code 1 for a difference")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder of the pages")
    options = parser.parse_args(arguments)
    if options.check:
        return _check(options.folder)
    rendered = {name: render(name) for name in FILES}
    for page in stale(options.folder):
        page.unlink()
    for name, text in rendered.items():
        file = options.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


def _check(folder: Path) -> int:
    lines = [line for name in FILES for line in differences(folder, name)]
    lines += [f"{page}: no error has this code\n" for page in stale(folder)]
    sys.stdout.write("".join(lines))
    if lines:
        sys.stderr.write(f"pages and code differ: run `{COMMAND}`\n")
    return 1 if lines else 0


def differences(folder: Path, name: str) -> Iterator[str]:
    """Yield the lines of a unified diff from the page in the folder to the page that the code makes."""
    file = folder / name
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    old, new = before.splitlines(keepends=True), render(name).splitlines(keepends=True)
    yield from difflib.unified_diff(old, new, fromfile=str(file), tofile=f"{name} from the code")


if __name__ == "__main__":
    sys.exit(main())
