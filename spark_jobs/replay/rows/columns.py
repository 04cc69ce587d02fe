"""Names of the working columns that a replay adds to the source's own.

They all begin with `PREFIX`, which pipeline files may not use, so that no source column can be hidden by one. Times are
signed 64-bit integers; the unit is in the name. What follows from the times means nothing in a row that is not valid.
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
COMMIT_US = PREFIX + "commit_us"  # in commit order: when that was, microseconds
SOURCE = PREFIX + "source"  # of several sources: the number of the row's; absent where there is one
PARTITION = PREFIX + "partition"  # label of the source partition, never null
VALID = PREFIX + "valid"  # whether the row has usable times; never null
REASON = PREFIX + "reason"  # why the row is invalid; null if it is valid
KEPT = PREFIX + "kept"  # whether `where` keeps the row
POSITION = PREFIX + "position"  # struct that compares as the total arrival order
COPY = PREFIX + "copy"  # where rows emit: the number of the row among identical ones that do, 0 if it does not
EPOCH = PREFIX + "epoch"  # the stretch between two emissions that the row belongs to; long, or the position itself
WINDOW_MS = PREFIX + "window_ms"  # start of the row's window, the newest if it has several
OLDEST_MS = PREFIX + "oldest_ms"  # start of the oldest window that is meant, where a row has several
TOO_LATE = PREFIX + "too_late"  # of a late row: whether the state of its window, of all its windows, had ended
WATERMARK_MS = PREFIX + "watermark_ms"  # of a late row: the combined watermark before it
FIRES_EPOCH = PREFIX + "fires_epoch"  # epoch whose emission fires the row's window; null: none before the end
COMPONENT = PREFIX + "component"  # of a row that is scanned: the number of its component among the unclean ones
RANK = PREFIX + "rank"  # of a row that is scanned: its place among the component's rows in the arrival order, from 1
