"""Tables of the lake: the pinned source, the staging area of a run, publishing, and the ledger of runs."""
