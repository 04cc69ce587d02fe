"""The metadata of a published table in a commit: its columns, their comments and mapping, its feed and clustering.

A table keeps what it has unless the pipeline file sets it otherwise. A commit that changes nothing of it has no action.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import uuid4

from pyspark.sql import types as T

from spark_jobs.pipeline.model import Results
from spark_jobs.pipeline.published_tables import BY_NAME
from spark_jobs.tables import clustering, columns, delta_transaction, table_metadata
from spark_jobs.tables.errors import PublishError
from spark_jobs.tables.interval import Interval


class CommitMetadata:
    """The `metaData`, `protocol` and `domainMetadata` actions of one commit to one published table.

    `results` are what published tables offer. `aggregates` are the aggregates by name as SQL, for the comments.
    """

    def __init__(
        self, table: str, transaction: delta_transaction.Transaction, results: Results, aggregates: Mapping[str, str]
    ) -> None:
        self._table, self._transaction = table, transaction
        self._results, self._aggregates = results, aggregates

    @cached_property
    def feed(self) -> bool:
        """Whether the table has a change data feed after the commit."""
        return _has_feed(self._results, self._transaction.metadata_action())

    def created(self, staged: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions that create the table; `staged` are those of the staged rows."""
        feed = self._results.change_data_feed is True
        return self._clustered([table_metadata.mapped(table_metadata.with_feed(action, on=feed)) for action in staged])

    def settled(self, changed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions of changed columns, with the settings of the table; these alone if they change alone."""
        current = self._transaction.metadata_action()
        if not changed and table_metadata.has_feed(current) != self.feed:
            changed = [current]
        return self._clustered([table_metadata.with_feed(action, on=self.feed) for action in changed])

    def commented(self) -> list[dict[str, Any]]:
        """Return the `metaData` action of the existing table with its comments; none if it has them."""
        current = self._transaction.metadata_action()
        commented = self.with_comments(current)
        return [] if _schema(commented) == _schema(current) else [commented]

    def with_comments(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return a staged action with the comments of the table and of its columns."""
        return table_metadata.with_comments(action, BY_NAME[self._table], self._aggregates)

    def mapped(self, actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions with the mapping of columns that the table has or needs.

        A table that begins to map its columns does so in a separate commit, as Delta demands. Raises
        CommitConflictError after that commit: the transaction has to begin again.
        """
        current = self._transaction.metadata_action()
        mapped = [table_metadata.mapped(action, current) for action in actions]
        if any(map(table_metadata.is_mapped, mapped)) and not table_metadata.is_mapped(current):
            self._transaction.commit([], [table_metadata.with_mapping(current)], uuid4().hex, data_change=False)
            raise delta_transaction.CommitConflictError(f"{self._table}: its columns are mapped now")
        return mapped

    def widened(self, before: T.StructType, staged: list[dict[str, Any]], span: Interval) -> dict[str, Any]:
        """Return the `metaData` action with the columns of the published rows, `before`, and of the staged rows.

        Only a table with the source's columns can be widened. Raises PublishError.
        """
        metadata = next(action["metaData"] for action in staged if "metaData" in action)
        after = T.StructType.fromJson(json.loads(metadata["schemaString"]))
        clashes = columns.clashes(before, after)
        by_window = ["window_start" in schema.names for schema in (before, after)]
        if clashes or by_window[0] != by_window[1] or not BY_NAME[self._table].holds_source_columns:
            names = f"found {columns.described(before)}, not {columns.described(after)}"
            difference = "; ".join(map(str, clashes)) or names
            raise PublishError(
                f"{self._table}: cannot replace the windows from {span.start} to {span.end} by rows with other "
                f"columns: {difference}. Replay without --from and --to to change the columns."
            )
        return {"metaData": {**metadata, "schemaString": columns.merged_schema(before, after).json()}}

    def _clustered(self, changed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the actions of changed columns and settings, with the clustering of the table if it changes."""
        if self._results.clustered is None:
            return changed
        is_new = self._transaction.read_version < 0
        metadata = next((action for action in changed if "metaData" in action), None)
        if metadata is None:
            if is_new:
                return changed
            metadata = self._transaction.metadata_action()
        by = clustering.time_column(_schema(metadata)["fields"]) if self._results.clustered else []
        if by == clustering.columns_of([] if is_new else self._transaction.domains()):
            return changed
        rest = [action for action in changed if action is not metadata]
        return [clustering.with_features(metadata), *rest, clustering.action(by)]


def restored(table: str, results: Results, current: dict[str, Any], earlier: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the `metaData` action that restores a table to an earlier one; with none, that of an emptied table.

    What the table offers, and the mapping of its columns, stay as they are.
    """
    commented = table_metadata.with_comments(earlier[0] if earlier else current, BY_NAME[table], {})
    action = table_metadata.with_retention_settings(commented)
    return table_metadata.mapped(table_metadata.with_feed(action, on=_has_feed(results, current)), current)


def _has_feed(results: Results, current: dict[str, Any]) -> bool:
    """Return whether a table has a change data feed after a commit; `current` is its `metaData` action before it."""
    return table_metadata.has_feed(current) if results.change_data_feed is None else results.change_data_feed


def _schema(action: dict[str, Any]) -> Any:
    return json.loads(action["metaData"]["schemaString"])
