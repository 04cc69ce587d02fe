"""What `tidemark maintain` prints for people, in 80 columns."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.jobs.operate.maintain import Maintenance
from spark_jobs.tables.orphans import Removal

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def as_json(found: Maintenance) -> dict[str, Any]:
    """One object; bytes are numbers."""
    files, size = found.removed
    return {
        "pipeline": found.pipeline,
        "dry_run": found.dry_run,
        "staging": [_removal(one) for one in found.dead],
        "compacted": [
            {"table": one.table, "files_before": one.before, "files_after": one.after, "bytes": one.size}
            for one in found.compacted
        ],
        "lost_runs": list(found.lost),
        "kept_runs": list(found.kept),
        "unneeded": [_removal(one) for one in found.unneeded],
        "files_removed": files,
        "bytes_removed": size,
        "notes": list(found.notes),
    }


def show(out: Console, found: Maintenance) -> None:
    """Print what was done, or would be."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("", "of"):
        table.add_column(column, overflow="fold")
    for column in ("files", "size"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for done in found.compacted:
        table.add_row("compact", done.table, f"{done.before:,} to {done.after:,}", _size(done.size), "small files")
    for removal in (*found.dead, *found.unneeded):
        of = removal.run_id or removal.table
        table.add_row("remove", of, f"{removal.files:,}", _size(removal.size), removal.why)
    if table.row_count:
        out.print(f"{found.pipeline}: {'would change' if found.dry_run else 'changed'}", highlight=False)
        out.print(table)
    else:
        out.print(f"{found.pipeline}: nothing to do", highlight=False)
    if found.lost:
        gone = "can be gone back to no more" if not found.dry_run else "could be gone back to no more"
        out.print(f"runs that {gone}: {', '.join(found.lost)}", highlight=False)
    out.print(f"published runs kept: {', '.join(found.kept) or 'none'}", highlight=False)
    for note in found.notes:
        out.print(note, markup=False, highlight=False)


def _removal(one: Removal) -> dict[str, Any]:
    return {"run_id": one.run_id, "table": one.table, "paths": list(one.paths), "files": one.files, "bytes": one.size,
            "why": one.why}  # fmt: skip


def _size(size: float) -> str:
    unit = 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:,.0f} {_UNITS[unit]}" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
