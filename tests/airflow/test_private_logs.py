"""The logs of the local Airflow hold the passwords that Airflow makes: no other user of the machine reads them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tidemark_airflow.embedded import airflow
from tidemark_airflow.embedded.installation import Installation

pytestmark = pytest.mark.airflow


def test_a_log_and_what_a_part_writes_are_for_this_user_alone(tmp_path: Path) -> None:
    installation = Installation(tmp_path, tmp_path / "home", 8080)
    installation.make()
    log = installation.logs / "part.log"
    log.write_text("of an earlier start", encoding="utf-8")
    log.chmod(0o644)
    code = "import sys; print('password'); open(sys.argv[1], 'w').close()"
    command = (sys.executable, "-c", code, str(tmp_path / "written"))
    process = airflow._run(installation, "part", command, dict(os.environ))
    assert process.wait() == 0
    assert log.read_text(encoding="utf-8") == "password\n"
    assert [path.stat().st_mode & 0o777 for path in (log, tmp_path / "written")] == [0o600, 0o600]
