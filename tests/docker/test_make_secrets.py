"""make-secrets draws long secrets that agree, keeps them, and makes none if a program fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.docker.installation import FOLDER
from tests.support.compose_secrets import make_secrets


@pytest.fixture(name="secrets_folder")
def _secrets_folder(tmp_path: Path) -> Path:
    """The folder that make-secrets has filled."""
    return make_secrets(tmp_path / "docker")


def test_secrets_are_drawn_anew_and_stay_as_they_are(tmp_path: Path, secrets_folder: Path) -> None:
    other = make_secrets(tmp_path / "other")
    for path in secrets_folder.iterdir():
        assert path.read_text() != (other / path.name).read_text(), path.name
    before = {path.name: path.read_bytes() for path in secrets_folder.iterdir()}
    (secrets_folder / "token_key").unlink()
    make_secrets(secrets_folder.parent)
    after = {path.name: path.read_bytes() for path in secrets_folder.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"token_key"}


def test_secrets_are_long_and_secrets_that_contain_each_other_agree(secrets_folder: Path) -> None:
    secrets = {path.name: path.read_text() for path in secrets_folder.iterdir()}
    assert (
        secrets["database_url"] == f"postgresql+psycopg2://airflow:{secrets['database_password']}@postgres:5432/airflow"
    )
    passwords = json.loads(secrets["airflow_passwords"])
    assert set(passwords) == {"admin", "viewer"}
    words = [*passwords.values(), secrets["database_password"], *re.findall(r"= (\S+)", secrets["s3_credentials"])]
    words.append(re.findall(r"^spark.authenticate.secret (\S+)$", secrets["spark_defaults"], re.MULTILINE)[0])
    assert all(re.fullmatch("[0-9a-f]{48}", word) for word in words)
    assert len(set(words)) == 6
    # Of 32 bytes, as Fernet requires, and of 64, as the signature of a token does.
    assert re.fullmatch(r"[\w-]{43}=", secrets["fernet_key"])
    assert all(re.fullmatch(r"[\w-]{86}==", secrets[name]) for name in ("session_key", "token_key"))


@pytest.mark.parametrize("program", ["head", "od", "base64", "tr"])
def test_a_program_that_fails_makes_no_secret_that_is_empty(tmp_path: Path, program: str) -> None:
    broken_program = tmp_path / "bin" / program
    broken_program.parent.mkdir()
    broken_program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken_program.chmod(0o755)
    folder = tmp_path / "docker"
    folder.mkdir()
    script = shutil.copy(FOLDER / "make-secrets", folder)
    path = f"{broken_program.parent}:{os.environ['PATH']}"
    failed = subprocess.run([script], env={"PATH": path}, check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: a random value has 0 characters, not "), failed.stderr
    assert all(secret.stat().st_size for secret in (folder / "secrets").iterdir())
    secrets = make_secrets(folder)
    assert len(list(secrets.iterdir())) == 8
    assert all(re.search(r"[\w-]{43}", secret.read_text()) for secret in secrets.iterdir())


def test_others_of_the_machine_do_not_reach_them_and_the_users_of_containers_do(secrets_folder: Path) -> None:
    assert stat.S_IMODE(secrets_folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets_folder.iterdir()} == {0o644}
