"""What Tidemark adds to Airflow beside its DAGs: the page of a run's report, behind Airflow's login."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tidemark_airflow.links import PREFIX


class TidemarkPlugin(AirflowPlugin):
    """Loaded by every process of Airflow; only the API server makes the pages."""

    name = "tidemark"

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]  # read only, and only once
        """The pages, imported by whoever asks for them and not before."""
        from tidemark_airflow.reports import app

        return [{"app": app, "name": "Tidemark reports", "url_prefix": PREFIX}]
