"""The embedded Airflow's settings, from the variables that it is started with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidemark_airflow.embedded.installation import DATABASE, PORT, Installation, InstallationError

pytestmark = pytest.mark.airflow

URL = "postgresql://airflow:secret@db.example:5433/meta?sslmode=require"
CONNECTION = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


def test_its_database_is_a_file_of_its_own_unless_another_is_named(tmp_path: Path) -> None:
    variables = Installation(tmp_path, tmp_path / "home", 8080).variables({"PATH": "/bin"})
    assert variables[CONNECTION] == f"sqlite:///{tmp_path}/home/airflow.db"
    assert f"{CONNECTION}_CMD" not in variables


def test_a_postgresql_is_taken_with_its_password_in_no_variable(tmp_path: Path) -> None:
    environment = {"PATH": "/bin", DATABASE: URL, CONNECTION: "postgresql://of/another"}
    installation = replace(Installation.of(environment), home=tmp_path / "home")
    installation.make()
    variables = installation.variables(environment)
    assert CONNECTION not in variables
    assert not [name for name, value in variables.items() if "secret" in value]
    file = Path(variables[f"{CONNECTION}_CMD"].removeprefix("cat "))
    assert file.read_text(encoding="utf-8") == URL.replace("postgresql:", "postgresql+psycopg2:")
    assert file.parent.stat().st_mode & 0o077 == 0
    assert "secret" not in repr(installation)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({DATABASE: "mysql://root:secret@db/x"}, f"{DATABASE} begins with 'mysql'; give a URL such as postgresql://"),
        ({DATABASE: "db.example"}, f"{DATABASE} begins with 'db.example'"),
        ({PORT: "80 80"}, f"{PORT} is '80 80'; a port is a whole number"),
        ({PORT: "70000"}, f"{PORT} is '70000'"),
    ],
)
def test_an_impossible_setting_is_refused_without_showing_the_secret(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InstallationError) as raised:
        Installation.of(environment)
    assert str(raised.value).startswith(message)
    assert "secret" not in str(raised.value)
