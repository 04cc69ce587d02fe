"""The plan of a run: which source version, which windows, under which run id."""
