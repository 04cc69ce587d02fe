"""The name under which programs import the join by interval; the join itself is in `spark_jobs.replay.joins`."""

from spark_jobs.replay.joins.interval_join import IntervalJoined, interval_join

__all__ = ["IntervalJoined", "interval_join"]
