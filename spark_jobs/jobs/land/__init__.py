"""Landing files of a folder in a Delta table, with the time at which each became known."""
