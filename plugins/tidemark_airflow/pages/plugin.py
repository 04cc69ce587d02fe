"""The plugin that adds pages to Airflow, behind its login: data quality, and the report of a run."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tidemark_airflow.jobs.links import PREFIX, QUALITY, base_path


class TidemarkPlugin(AirflowPlugin):
    """Loaded by every process of Airflow; only the API server makes the pages."""

    name = "tidemark"

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]  # read only, and only once
        """The pages; their modules are imported when Airflow reads this property."""
        from tidemark_airflow.pages.reports import app as reports
        from tidemark_airflow.quality.routes import app as quality

        return [
            {"app": reports, "name": "Tidemark reports", "url_prefix": PREFIX},
            {"app": quality, "name": "Tidemark data quality", "url_prefix": QUALITY},
        ]

    @property
    def fastapi_root_middlewares(self) -> list[dict[str, Any]]:  # type: ignore[override]  # see above
        """The check before a form is started."""
        from tidemark_airflow.pages.form_access import FormAccess

        return [{"name": "Tidemark forms", "middleware": FormAccess}]

    @property
    def external_views(self) -> list[dict[str, Any]]:  # type: ignore[override]  # see above
        """Data quality in the navigation, on each DAG, and on each run of one; Airflow fills in what is in braces."""
        pages = f"{base_path()}{QUALITY}"
        return [
            _view("nav", "data-quality", f"{pages}/"),
            _view("dag", "data-quality-of-dag", f"{pages}/{{DAG_ID}}"),
            _view("dag_run", "data-quality-of-run", f"{pages}/{{DAG_ID}}/dag_runs/{{RUN_ID}}"),
        ]


def _view(destination: str, route: str, href: str) -> dict[str, Any]:
    return {"name": "Data quality", "destination": destination, "url_route": route, "href": href}
