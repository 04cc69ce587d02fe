"""The semantics compiled to Spark: `replay` returns the event-time results of a streaming job as lazy DataFrames."""

from spark_jobs.replay.engine import Replay, SessionReplay, replay
from spark_jobs.replay.rows.event_time import TimeFieldError
from spark_jobs.replay.supported import UnsupportedPipelineError

__all__ = ["Replay", "SessionReplay", "TimeFieldError", "UnsupportedPipelineError", "replay"]
