"""The meaning of a replay: Flink's event-time rules in plain Python, standard library only, one concept a module.

`reference.replay` replays windows row by row, `joins.joining_job.join` replays joins. Both are the reference for the
Spark code, which computes the same results in bulk.
"""
