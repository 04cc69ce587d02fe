"""Entry points: the only place, beside the tables, where something is read, run or written."""
