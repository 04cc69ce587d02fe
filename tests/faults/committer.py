"""A driver that commits to a table when its parent wants it to: `python -m tests.faults.committer TABLE`.

Its input has two lines for each race: an application, and `go`. The driver reads the table, writes a row that contains
the application, and answers `ready`. After `go` it commits the row and answers the version, or `lost`.
"""

from __future__ import annotations

import sys

from spark_jobs.session import open_session
from spark_jobs.tables.delta_transaction import CommitConflictError, Transaction


def main(path: str) -> None:
    """Take part in races until the input ends."""
    spark = open_session("committer")
    for line in sys.stdin:
        application = line.strip()
        transaction = Transaction(spark, path)
        added = transaction.write(spark.createDataFrame([(application,)], "application string"))
        _answer("ready")
        sys.stdin.readline()
        try:
            _answer(str(transaction.commit([], added, application)))
        except CommitConflictError:
            _answer("lost")
    spark.stop()


def _answer(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
