"""The certificates that Python trusts on this machine, as a trust store for Java.

A Java has its own certificates. They lack those of a company's proxy, and a Java from a wheel does not read the
machine's certificates. The store is a JKS file, which every Java reads: a header, the entries, and a
SHA-1 over a fixed password and both. The digest guards against damage only; the certificates are public.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

_MAGIC, _FORMAT = 0xFEEDFEED, 2
_TRUSTED = 2
_SALT = "changeit".encode("utf-16-be") + b"Mighty Aphrodite"


def trusted_by_python() -> list[bytes]:
    """Return the certificates in DER, from SSL_CERT_FILE and SSL_CERT_DIR or OpenSSL's own places; none is possible."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    folder = os.environ.get(paths.openssl_capath_env, paths.openssl_capath)
    # OpenSSL opens a folder's certificates only when it needs them; a list contains only loaded certificates.
    for file in sorted(Path(folder).glob("*.pem")) if folder else []:
        try:
            context.load_verify_locations(cafile=file)
        except (OSError, ssl.SSLError):
            continue
    return context.get_ca_certs(binary_form=True)


def java_trust_store(certificates: Sequence[bytes]) -> bytes:
    """Return the content of a JKS file in which a Java finds these certificates, each in DER."""
    entries = b"".join(_entry(f"c{number}", der) for number, der in enumerate(certificates))
    store = struct.pack(">III", _MAGIC, _FORMAT, len(certificates)) + entries
    return store + hashlib.sha1(_SALT + store, usedforsecurity=False).digest()


def _entry(alias: str, der: bytes) -> bytes:
    created_ms = 0
    head = struct.pack(">I", _TRUSTED) + _text(alias) + struct.pack(">q", created_ms)
    return head + _text("X.509") + struct.pack(">I", len(der)) + der


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
