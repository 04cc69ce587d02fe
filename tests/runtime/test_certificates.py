"""What Python trusts, a Java can be made to trust: the same certificates, in a file that a Java reads."""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
from pathlib import Path

import certifi
import pytest

from spark_jobs.runtime.certificates import java_trust_store, trusted_by_python
from spark_jobs.runtime.java import require_java

END = "-----END CERTIFICATE-----\n"
CERTIFICATES = [block + END for block in Path(certifi.where()).read_text(encoding="utf-8").split(END)[:3]]
DER = [ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN") :]) for pem in CERTIFICATES]


def test_certificates_come_from_ssl_cert_file_and_ssl_cert_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.crt").write_text(CERTIFICATES[0], encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.pem").write_text(CERTIFICATES[1], encoding="utf-8")
    (tmp_path / "folder" / "broken.pem").write_text("no certificate", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "file.crt"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "folder"))
    assert sorted(trusted_by_python()) == sorted(DER[:2])


def test_a_machine_without_certificates_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none either"))
    assert trusted_by_python() == []


def test_a_java_reads_the_store_and_finds_every_certificate_in_it(tmp_path: Path, machine_prefix: None) -> None:
    keytool = require_java(os.environ).path / "bin" / "keytool"
    if not keytool.is_file():
        pytest.skip("this Java comes without keytool")
    (tmp_path / "store").write_bytes(java_trust_store(DER))
    command = [str(keytool), "-list", "-keystore", str(tmp_path / "store"), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for der in DER:
        digest = hashlib.sha256(der).hexdigest().upper()
        assert ":".join(digest[i : i + 2] for i in range(0, 64, 2)) in listed
