"""The text of `tidemark maintain` for people, in 80 columns, and its JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.figures import size
from spark_jobs.jobs.operate.maintain import Maintenance
from spark_jobs.tables.orphans import Removal


def as_json(maintenance: Maintenance) -> dict[str, Any]:
    """Return one object; sizes are bytes."""
    files, size = maintenance.removed
    return {
        "pipeline": maintenance.pipeline,
        "dry_run": maintenance.dry_run,
        "staging": [_removal(removal) for removal in maintenance.dead],
        "compacted": [
            {
                "table": compaction.table,
                "files_before": compaction.before,
                "files_after": compaction.after,
                "bytes": compaction.size,
            }
            for compaction in maintenance.compacted
        ],
        "lost_runs": list(maintenance.lost),
        "kept_runs": list(maintenance.kept),
        "unneeded": [_removal(removal) for removal in maintenance.unneeded],
        "files_removed": files,
        "bytes_removed": size,
        "notes": list(maintenance.notes),
    }


def show(out: Console, maintenance: Maintenance) -> None:
    """Print what was changed, or for a dry run would be."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("", "of"):
        table.add_column(column, overflow="fold")
    for column in ("files", "size"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for compaction in maintenance.compacted:
        table.add_row(
            "compact",
            compaction.table,
            f"{compaction.before:,} to {compaction.after:,}",
            size(compaction.size),
            "small files",
        )
    for removal in (*maintenance.dead, *maintenance.unneeded):
        of = removal.run_id or removal.table
        table.add_row("remove", of, f"{removal.files:,}", size(removal.size), removal.why)
    if table.row_count:
        out.print(f"{maintenance.pipeline}: {'would change' if maintenance.dry_run else 'changed'}")
        out.print(table)
    else:
        out.print(f"{maintenance.pipeline}: nothing to do")
    if maintenance.lost:
        lost = "can no longer be restored" if not maintenance.dry_run else "could no longer be restored"
        out.print(f"runs that {lost}: {', '.join(maintenance.lost)}")
    out.print(f"published runs kept: {', '.join(maintenance.kept) or 'none'}")
    for note in maintenance.notes:
        out.print(note)


def _removal(removal: Removal) -> dict[str, Any]:
    return {
        "run_id": removal.run_id,
        "table": removal.table,
        "paths": list(removal.paths),
        "files": removal.files,
        "bytes": removal.size,
        "why": removal.why,
    }
