"""Java starts with archived classes where set-up has made the archive, and without a message where it has not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.runtime import class_archive, driver_conf, process_environment
from spark_jobs.runtime.installed import jars_dir, share
from tests.runtime.conftest import MakeJava, script

Lines = list[str]


@pytest.fixture
def variables(make_java: MakeJava) -> dict[str, str]:
    """The variables of a Spark process with a Java and a jar."""
    jars_dir().mkdir(parents=True)
    (jars_dir() / "some.jar").write_bytes(b"jar")
    return process_environment({"PATH": f"{make_java('jdk', '17.0.15') / 'bin'}:/usr/bin:/bin"})


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a shell script in the place of the Spark program."""

    def put(*lines: str) -> None:
        monkeypatch.setattr(sys, "executable", str(script(tmp_path / "python", *lines)))

    return put


WRITES = r"""echo classes > "$(echo "$SPARK_SUBMIT_OPTS" | sed 's/.*ArchiveClassesAtExit=\([^"]*\)".*/\1/')" """


def archives() -> list[Path]:
    return [*share().glob("classes-*")]


def test_set_up_makes_an_archive_once(variables: dict[str, str], program: Callable[..., None]) -> None:
    lines: Lines = []
    program(WRITES)
    class_archive.make(variables, lines.append)
    assert len(archives()) == 1
    assert lines[-1] == "classes: archived, 0 MB"
    program("exit 1")
    class_archive.make(variables, lines.append)
    assert lines[-1] == "classes: the archive is in place"


def test_a_driver_uses_the_archive_of_its_java_and_jars(
    variables: dict[str, str], program: Callable[..., None], make_java: MakeJava
) -> None:
    assert class_archive.options(variables) == ""
    program(WRITES)
    class_archive.make(variables, lambda line: None)
    (archive,) = archives()
    assert class_archive.options(variables) == f' "-XX:SharedArchiveFile={archive}" -Xlog:cds*=off'
    engine = {"TIDEMARK_ENGINE": "spark"}
    options = driver_conf({**variables, **engine}, "local[*]", print)["spark.driver.extraJavaOptions"]
    assert options.endswith(class_archive.options(variables))
    own = driver_conf({**variables, **engine, "SPARK_CONF_DIR": "/etc/spark"}, "local[*]", print)
    assert "Archive" not in own["spark.driver.extraJavaOptions"]
    assert class_archive.options({**variables, "JAVA_HOME": str(make_java("other", "21.0.1"))}) == ""
    (jars_dir() / "some.jar").write_bytes(b"another jar")
    assert class_archive.options(variables) == ""


def test_an_archive_of_other_jars_is_replaced(variables: dict[str, str], program: Callable[..., None]) -> None:
    program(WRITES)
    class_archive.make(variables, lambda line: None)
    before = archives()
    (jars_dir() / "some.jar").write_bytes(b"another jar")
    class_archive.make(variables, lambda line: None)
    assert len(archives()) == 1
    assert archives() != before


def test_without_an_archive_set_up_goes_on(variables: dict[str, str], program: Callable[..., None]) -> None:
    lines: Lines = []
    program(WRITES, "exit 3")
    class_archive.make(variables, lines.append)
    assert {file.name for file in share().iterdir()} == {"jars"}
    assert lines[-1].startswith("classes: no archive, so Spark starts more slowly: ")


@pytest.mark.usefixtures("machine_prefix")
@pytest.mark.spark
def test_spark_s_classes_come_from_the_archive_of_this_environment(tmp_path: Path) -> None:
    log = tmp_path / "classes.log"
    program = "from spark_jobs.session import open_session; open_session('archive').range(1).collect()"
    variables = {**os.environ, "SPARK_SUBMIT_OPTS": f"-Xlog:class+load:file={log}"}
    subprocess.run([sys.executable, "-c", program], env=variables, check=True, capture_output=True)
    loaded = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    sources = {fields[1]: " ".join(fields[3:]) for fields in loaded if len(fields) > 3}
    assert sources["org.apache.spark.SparkContext"] == "shared objects file (top)"
    # A class with a slash in its name is generated.
    archived = ["shared objects file" in source for name, source in sources.items() if "/" not in name]
    assert sum(archived) > 0.9 * len(archived)
