"""Names of the working columns that a replay adds to the source's own.

They all begin with `PREFIX`, which pipeline files may not use, so that they hide no source column. Times are signed
64-bit integers; the unit is in the name. Columns that are computed from times are undefined in an invalid row.
"""

PREFIX = "__tm_"

TS_MS = PREFIX + "ts_ms"  # event time, milliseconds, floored (rule 1)
EVENT_US = PREFIX + "event_us"  # event time, microseconds; null if it cannot be read
CLOCK_US = (
    PREFIX + "clock_us"
)  # the clock that orders rows: arrival time, event time in event-time order, or the round's
ARRIVAL_US = PREFIX + "arrival_us"  # arrival time, microseconds; null where none is declared
CANDIDATE_MS = PREFIX + "candidate_ms"  # the watermark that a marked row carries; only with punctuated watermarks
OFFSET = PREFIX + "offset"  # in the order of offsets: the row's place in its partition
COMMIT_VERSION = PREFIX + "commit_version"  # in commit order: the commit that brought the row
COMMIT_US = PREFIX + "commit_us"  # in commit order: time of that commit, microseconds
SOURCE = PREFIX + "source"  # number of the row's source; absent for a single source
PARTITION = PREFIX + "partition"  # label of the source partition, never null
VALID = PREFIX + "valid"  # whether the row has usable times; never null
REASON = PREFIX + "reason"  # why the row is invalid; null if it is valid
KEPT = PREFIX + "kept"  # whether the row fills windows; false for a row that is left out (`semantics.rows.left_out`)
RULE = PREFIX + "rule"  # the rule that quarantines a valid row, or null; only with rules
IDENTITY = PREFIX + "identity"  # text that a row shares with its duplicates; null without one; only with `deduplicate`
IS_DUPLICATE = PREFIX + "is_duplicate"  # whether a valid row is left out as a duplicate; only with `deduplicate`
POSITION = PREFIX + "position"  # struct that compares as the total arrival order
ORDER = PREFIX + "order"  # the position, where aggregates of rows read it (`floats`); beside the source's own columns
COPY = PREFIX + "copy"  # where rows emit: number of the row among identical emitting rows; 0 if it does not emit
EPOCH = PREFIX + "epoch"  # the stretch between two emissions that the row belongs to; long, or the position itself
WINDOW_MS = PREFIX + "window_ms"  # start of the row's window, the newest if it has several
OLDEST_MS = PREFIX + "oldest_ms"  # start of the oldest window of the row, where a row has several
TOO_LATE = PREFIX + "too_late"  # of a late row: whether the state of all its windows had ended
WATERMARK_MS = PREFIX + "watermark_ms"  # of a late row: the combined watermark before it
FIRES_EPOCH = PREFIX + "fires_epoch"  # epoch whose emission fires the row's window; null: none before the end
CLOSES_EPOCH = PREFIX + "closes_epoch"  # epoch whose emission ends the state of the row's window; null: likewise
COMPONENT = PREFIX + "component"  # of a scanned row: number of its component among the unclean components
RANK = PREFIX + "rank"  # of a scanned row: its rank among the component's rows in the arrival order, from 1


def read_by_aggregates(name: str) -> bool:
    """Return whether aggregates may read a column: the source's own, and `ORDER`."""
    return not name.startswith(PREFIX) or name == ORDER
