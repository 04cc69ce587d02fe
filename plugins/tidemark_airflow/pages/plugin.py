"""The plugin that adds pages to Airflow, behind its login: data quality, late rows, and the report of a run."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from airflow.plugins_manager import AirflowPlugin

from tidemark_airflow.jobs.links import PREFIX, QUALITY, ROWS, base_path


class TidemarkPlugin(AirflowPlugin):
    """Loaded by every process of Airflow; only the API server makes the pages."""

    name = "tidemark"

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]  # read only, and only once
        """The pages; their modules are imported when Airflow reads this property."""
        from tidemark_airflow.inspection.routes import app as rows
        from tidemark_airflow.pages.reports import app as reports
        from tidemark_airflow.quality.routes import app as quality

        return [
            {"app": reports, "name": "Tidemark reports", "url_prefix": PREFIX},
            {"app": quality, "name": "Tidemark data quality", "url_prefix": QUALITY},
            {"app": rows, "name": "Tidemark rows", "url_prefix": ROWS},
        ]

    @property
    def fastapi_root_middlewares(self) -> list[dict[str, Any]]:  # type: ignore[override]  # see above
        """The check before a form is started."""
        from tidemark_airflow.pages.form_access import FormAccess

        return [{"name": "Tidemark forms", "middleware": FormAccess}]

    @property
    def external_views(self) -> list[dict[str, Any]]:  # type: ignore[override]  # see above
        """Data quality in the navigation, on each DAG and each of its runs; late rows on each DAG.

        Airflow fills in the ids in braces.
        """
        pages = f"{base_path()}{QUALITY}"
        return [
            # The navigation cuts a longer name.
            _view("Quality", "nav", "data-quality", f"{pages}/"),
            _view("Data quality", "dag", "data-quality-of-dag", f"{pages}/{{DAG_ID}}"),
            _view("Late rows", "dag", "late-rows-of-dag", f"{base_path()}{ROWS}/{{DAG_ID}}"),
            _view("Data quality", "dag_run", "data-quality-of-run", f"{pages}/{{DAG_ID}}/dag_runs/{{RUN_ID}}"),
        ]


def _view(name: str, destination: str, route: str, href: str) -> dict[str, Any]:
    icons = {"icon": _icon("#27496d"), "icon_dark_mode": _icon("#e0eaf5")}
    return {"name": name, "destination": destination, "url_route": route, "href": href, **icons}


def _icon(colour: str) -> str:
    """Return the address of a picture of two waves below a line."""
    waves = "M3 6h18M3 12c3-3 6-3 9 0s6 3 9 0M3 18c3-3 6-3 9 0s6 3 9 0"
    path = f"<path d='{waves}' fill='none' stroke='{colour}' stroke-width='2' stroke-linecap='round'/>"
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'>{path}</svg>"
    return f"data:image/svg+xml,{quote(svg)}"
