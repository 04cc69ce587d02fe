"""Small tables that delta-rs writes: readers open few files of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from spark_jobs.pipeline.published_tables import Column, Table, Use
from spark_jobs.tables import delta_rs_writes
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.objects import storage_options
from tests.support.flaky_proxy import FlakyProxy, _Handler
from tests.support.object_store import BUCKET, object_store

NUMBERS = Table("numbers", "a number", Use.RECORD, (Column("number", "bigint", "a number"),))


def numbers(path: Path) -> list[int]:
    return sorted(row["number"] for row in DeltaTable(path).to_pyarrow_table().to_pylist())


def test_the_log_has_a_checkpoint_every_ten_commits(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    for number in range(23):
        delta_rs_writes.append(str(path), NUMBERS, [{"number": number}])
    checkpoints = (file.name.partition(".")[0] for file in (path / "_delta_log").glob("*.checkpoint.parquet"))
    # The first commit has number 0.
    assert sorted(map(int, checkpoints)) == [9, 19]
    assert numbers(path) == list(range(23))


class Forgetful(_Handler):
    """Forgets the answer to each first request of a kind that creates a commit."""

    def _serve(self) -> None:
        server: Any = self.server
        if self.command == "PUT" and "_delta_log" in self.path and self.headers.get("If-None-Match") and server.due:
            server.due, server.kind = False, "forget"
        super()._serve()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815  names of the library


class ForgetfulProxy(FlakyProxy):
    """A proxy that loses the answer to the next commit if one is `due`."""

    due = False
    kind = ""

    def draw(self) -> str:
        kind, self.kind = self.kind, ""
        return kind


@pytest.fixture(name="proxy")
def _proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgetfulProxy]:
    with object_store() as variables, ForgetfulProxy(variables["AWS_ENDPOINT_URL"], 0) as proxy:
        proxy.RequestHandlerClass = Forgetful
        for name, value in {**variables, "AWS_ENDPOINT_URL": proxy.address}.items():
            monkeypatch.setenv(name, value)
        Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()


def test_a_commit_whose_answer_is_lost_is_no_failure(proxy: ForgetfulProxy) -> None:
    path = f"s3a://{BUCKET}/quality"
    for number in (1, 2, 3):
        delta_rs_writes.append(path, NUMBERS, [{"number": number}])
    writes: dict[str, tuple[Callable[[], None], int]] = {
        "append": (partial(delta_rs_writes.append, path, NUMBERS, [{"number": 4}]), 4),
        "replace": (partial(delta_rs_writes.replace, path, NUMBERS, [{"number": 5}], "number > 3"), 5),
        "compact": (partial(delta_rs_writes.compact, path, timedelta(days=7)), 5),
    }
    for kind, (write, last) in writes.items():
        proxy.due = True
        write()
        assert not proxy.due, kind
        rows = DeltaTable(path, storage_options=storage_options(path)).to_pyarrow_table().to_pylist()
        assert sorted(row["number"] for row in rows) == [1, 2, 3, last], kind


def test_a_replacement_behind_another_writer_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, left = str(tmp_path / "numbers"), delta_rs_writes._write, [2]
    delta_rs_writes.append(path, NUMBERS, [{"number": 1}])

    def overtaken(*arguments: Any, **options: Any) -> None:
        if left:
            write(path, NUMBERS, [{"number": left.pop()}], mode="append")
            raise LakeError("overtaken") from CommitFailedError("a concurrent transaction")
        write(*arguments, **options)

    monkeypatch.setattr(delta_rs_writes, "_write", overtaken)
    delta_rs_writes.replace(path, NUMBERS, [{"number": 3}], "number < 4")
    assert numbers(tmp_path / "numbers") == [3]


def test_a_replacement_that_is_overtaken_each_time_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "numbers")
    delta_rs_writes.append(path, NUMBERS, [{"number": 1}])

    def overtaken(*_: Any, **__: Any) -> None:
        raise LakeError("overtaken") from CommitFailedError("a concurrent transaction")

    monkeypatch.setattr(delta_rs_writes, "_write", overtaken)
    with pytest.raises(LakeError, match="overtaken"):
        delta_rs_writes.replace(path, NUMBERS, [{"number": 3}], "number < 4")
    assert numbers(tmp_path / "numbers") == [1]
