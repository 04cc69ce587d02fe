"""The name under which programs import the join by window; the join itself is in `spark_jobs.replay.joins`."""

from spark_jobs.replay.joins.window_join import WindowJoined, window_join

__all__ = ["WindowJoined", "window_join"]
