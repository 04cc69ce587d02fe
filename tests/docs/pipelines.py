"""The pipelines into which fragments of pages are merged before they are loaded."""

from __future__ import annotations

_WINDOW = """
name: clicks
source:
  table: data/clicks
  event_time: clicked_at
  arrival_time: stored_at
watermark: {out_of_orderness: 10 minutes, emit: {every: 1 minute}}
windows: {kind: tumbling, size: 1 hour, key: [country], aggregates: {clicks: count(*)}}
"""

_JOIN = """
name: paid_orders
sources:
  - name: orders
    table: data/orders
    event_time: ordered_at
    arrival_time: stored_at
    watermark: {out_of_orderness: 1 minute}
  - name: payments
    table: data/payments
    event_time: paid_at
    arrival_time: stored_at
    watermark: {out_of_orderness: 1 minute}
watermark: {emit: {every: 1 minute}}
join: {key: [order_id], between: [0s, 1 hour]}
"""

BASES = {
    "window": _WINDOW,
    # The strategy and its settings are in the fragment.
    "watermark": _WINDOW.replace("out_of_orderness: 10 minutes, ", ""),
    # The kind of the windows and their lengths are in the fragment.
    "kind": _WINDOW.replace("kind: tumbling, size: 1 hour, ", ""),
    # Sources, each with its own watermark, are in the fragment.
    "sources": _WINDOW.replace("out_of_orderness: 10 minutes, ", ""),
    # What is open stays open: runs by arrival.
    "arrivals": _WINDOW + "replay: {end_of_input: keep_open}\n",
    "join": _JOIN,
    # The join, without what makes it one by interval.
    "window join": _JOIN.replace(", between: [0s, 1 hour]", ""),
    # The join of the two parts of a single source.
    "split": _WINDOW.partition("windows:")[0].replace("out_of_orderness: 10 minutes, ", ""),
}
