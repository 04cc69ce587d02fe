"""The meaning of a replay: Flink's event-time rules in plain Python, standard library only, one concept a module.

`reference.replay` puts them together row by row, `joining_job.join` does so for two inputs. They are the judge of the
Spark code, which states the same in bulk.
"""
