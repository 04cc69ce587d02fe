"""The name under which programs import the as-of join; the join itself is in `spark_jobs.replay.joins`."""

from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join

__all__ = ["AsOfJoined", "as_of_join"]
