"""The embedded Airflow: the folder of the clone with its database, passwords and logs, and its settings.

Its database is SQLite in that folder, or the PostgreSQL that TIDEMARK_AIRFLOW_DATABASE names by URL.

Every setting is an environment variable, so another Airflow on the machine is neither read nor changed. It imports the
standard library only: the variables must be set before Airflow is imported.
"""

from __future__ import annotations

import base64
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spark_jobs.error_codes import ErrorCode

PORT = "TIDEMARK_AIRFLOW_PORT"
DATABASE = "TIDEMARK_AIRFLOW_DATABASE"
MARK = "TIDEMARK_AIRFLOW_HOME"
USERS = {"admin": "admin", "viewer": "viewer"}

_POSTGRESQL = ("postgresql://", "postgresql+psycopg2://")

# By command and not by value, which would be in the environment of every process that Airflow starts.
_DATABASE_URL = "database.url"
_SQL_ALCHEMY_CONN = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_KEYS = {"CORE__FERNET_KEY": "fernet.key", "API__SECRET_KEY": "session.key", "API_AUTH__JWT_SECRET": "token.key"}
# Fernet takes 32 bytes and no other number; HS512, which signs tokens, wants 64.
_KEY_BYTES = {"fernet.key": 32, "session.key": 32, "token.key": 64}

_ROOT = Path(__file__).resolve().parents[3]
_LOCAL_SPARK = '{"conn_type": "spark", "host": "local[2]"}'


class InstallationError(Exception):
    """The embedded Airflow cannot be set up; the message has the value found and what to do."""

    code = ErrorCode.AIRFLOW_SETTING_WRONG


@dataclass(frozen=True)
class Installation:
    """An embedded Airflow: the clone it serves, its folder, its port on this machine; its database if not SQLite."""

    root: Path
    home: Path
    port: int
    database: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, environ: Mapping[str, str], name: str = "airflow") -> Installation:
        """Return the clone's Airflow called `name`. Raises InstallationError for a port or a database that is none."""
        text = environ.get(PORT) or "8080"
        port = int(text) if text.isascii() and text.isdigit() else 0
        if not 0 < port < 65_536:
            raise InstallationError(f"{PORT} is '{text}'; a port is a whole number from 1 to 65535")
        database = environ.get(DATABASE) or None
        if database and not database.startswith(_POSTGRESQL):
            problem = f"{DATABASE} begins with '{database.partition('://')[0][:20]}'"
            raise InstallationError(f"{problem}; give a URL such as postgresql://user:password@host:5432/airflow")
        return cls(_ROOT, _ROOT / ".tidemark" / name, port, database)

    @property
    def url(self) -> str:
        """The address for a browser."""
        return f"http://localhost:{self.port}"

    @property
    def health(self) -> str:
        """The address of the health of its parts."""
        return f"http://127.0.0.1:{self.port}/api/v2/monitor/health"

    @property
    def passwords(self) -> Path:
        """The file of user names and passwords, JSON."""
        return self.home / "passwords.json"

    @property
    def logs(self) -> Path:
        """The folder of logs: a file a part of Airflow, below it a file a task."""
        return self.home / "logs"

    def make(self) -> None:
        """Make its folder, for this user alone, with the keys that its processes share."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o700)
        self.logs.mkdir(exist_ok=True)
        # Airflow writes all its defaults into a configuration file that does not exist; an empty file sets nothing.
        (self.home / "airflow.cfg").touch()
        for file, count in _KEY_BYTES.items():
            if not self._key(file).is_file():
                self._key(file).write_bytes(base64.urlsafe_b64encode(os.urandom(count)))
        if self.database:
            # By the driver that is in the lock file: SQLAlchemy would take another.
            url = f"postgresql+psycopg2://{self.database.partition('://')[2]}"
            self._key(_DATABASE_URL).write_text(url, encoding="utf-8")

    def variables(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that its processes are started with, from those of this process."""
        files = {**_KEYS, "DATABASE__SQL_ALCHEMY_CONN": _DATABASE_URL} if self.database else _KEYS
        return {
            **{name: value for name, value in base.items() if name not in (DATABASE, _SQL_ALCHEMY_CONN)},
            "TIDEMARK_LAKE": base.get("TIDEMARK_LAKE") or str(self.root / "lake"),
            "TIDEMARK_POOL": base.get("TIDEMARK_POOL") or "tidemark",
            "AIRFLOW_CONN_SPARK_DEFAULT": base.get("AIRFLOW_CONN_SPARK_DEFAULT") or _LOCAL_SPARK,
            "PATH": _joined(str(Path(sys.executable).parent), base.get("PATH", os.defpath)),
            "PYTHONPATH": _joined(str(self.root), str(self.root / "plugins"), base.get("PYTHONPATH", "")),
            MARK: str(self.home),
            PORT: str(self.port),
            # By default Airflow writes titles over a process's variables, and the mark is among them.
            "SPT_NOENV": "1",
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW_CONFIG": str(self.home / "airflow.cfg"),
            **{f"AIRFLOW__{name}": value for name, value in self._settings().items()},
            **{f"AIRFLOW__{option}_CMD": f"cat {shlex.quote(str(self._key(file)))}" for option, file in files.items()},
        }

    def _key(self, file: str) -> Path:
        return self.home / file

    def _settings(self) -> dict[str, str]:
        embedded = {} if self.database else {"DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home / 'airflow.db'}"}
        return {
            **embedded,
            "CORE__DAGS_FOLDER": str(self.root / "dags"),
            "CORE__PLUGINS_FOLDER": str(self.root / "plugins"),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__EXECUTOR": "LocalExecutor",
            "CORE__PARALLELISM": "4",
            "CORE__AUTH_MANAGER": "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager",
            "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
            "CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
            "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.passwords),
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(self.port),
            "API__BASE_URL": self.url,
            # Its pages load scripts from a content network.
            "API__ENABLE_SWAGGER_UI": "False",
            "LOGGING__BASE_LOG_FOLDER": str(self.logs),
        }


def _joined(*parts: str) -> str:
    return os.pathsep.join(dict.fromkeys(p for part in parts for p in part.split(os.pathsep) if p))
