"""Spark's resolver keeps to its folder, trusts what Java or else Python trusts, and reports why it failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, ivy
from tests.runtime.conftest import script

UNREACHABLE = """\
:: resolving dependencies :: org.apache.spark#spark-submit-parent;1.0
	Server access error at url proto://host/a.pom (javax.net.ssl.SSLHandshakeException: PKIX path building failed)
	Server access error at url proto://host/b.pom (javax.net.ssl.SSLHandshakeException: PKIX path building failed)
		::          UNRESOLVED DEPENDENCIES         ::
		:: io.delta#delta-storage;4.4.0: not found
:: USE VERBOSE OR DEBUG MESSAGE LEVEL FOR MORE DETAILS
"""


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark whose spark-submit is the test's."""
    monkeypatch.setattr(ivy, "spark_home", lambda: tmp_path / "spark")
    return tmp_path / "spark" / "bin" / "spark-submit"


def test_ivy_and_java_keep_to_the_given_folder(tmp_path: Path, spark: Path) -> None:
    script(spark, f"""printf '%s\\n' "$@" > '{tmp_path}/arguments'""")
    work = tmp_path / "a folder"
    assert ivy.resolve(["g:a:1", "g:b:2"], work, os.environ, "h:*") == work / "jars"
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8").splitlines()
    assert arguments[arguments.index("--packages") + 1] == "g:a:1,g:b:2"
    assert arguments[arguments.index("--exclude-packages") + 1] == "h:*"
    assert f"spark.jars.ivy={work}" in arguments
    assert f'"-Duser.home={work}/home"' in arguments


def test_the_machine_s_own_name_need_not_be_known(tmp_path: Path, spark: Path) -> None:
    script(spark, f"""echo "$SPARK_LOCAL_HOSTNAME" > '{tmp_path}/name'""")
    ivy.resolve(["g:a:1"], tmp_path / "work", {**os.environ, "SPARK_LOCAL_HOSTNAME": "elsewhere"}, "h:*")
    assert (tmp_path / "name").read_text(encoding="utf-8") == "localhost\n"


def test_the_second_attempt_trusts_what_python_trusts(tmp_path: Path, spark: Path) -> None:
    script(spark, f"""case "$*" in *trustStore=*) echo "$@" > '{tmp_path}/second';; *) exit 1;; esac""")
    ivy.resolve(["g:a:1"], tmp_path / "work", os.environ, "h:*")
    assert f"-Djavax.net.ssl.trustStore={tmp_path}/work/trusted.jks" in (tmp_path / "second").read_text()
    assert (tmp_path / "work" / "trusted.jks").stat().st_size > 0


def test_error_of_two_failed_attempts_has_the_cause_and_the_remedy(tmp_path: Path, spark: Path) -> None:
    (tmp_path / "said").write_text(UNREACHABLE, encoding="utf-8")
    script(spark, f"cat '{tmp_path}/said'; exit 1")
    with pytest.raises(RuntimeSetupError, match=r"PKIX path.*DEFAULT_ARTIFACT_REPOSITORY.*setup --jars"):
        ivy.resolve(["g:a:1"], tmp_path / "work", os.environ, "h:*")


def test_causes_have_no_duplicates() -> None:
    assert ivy.causes(UNREACHABLE * 2) == [
        "javax.net.ssl.SSLHandshakeException: PKIX path building failed",
        "io.delta#delta-storage;4.4.0: not found",
    ]


def test_end_of_the_output_is_the_cause_if_no_other_is_known() -> None:
    output = "\n".join(f"line {number}" for number in range(20))
    assert ivy.causes(output) == ["line 15", "line 16", "line 17", "line 18", "line 19"]
