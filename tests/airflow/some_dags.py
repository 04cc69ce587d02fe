"""An auth manager under which a user may read some DAGs and not others, as those of larger installations have it."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

#: The one DAG that the user `clerk` may read.
OF_CLERK = "tidemark_sales"
#: Further DAGs that the user may read.
ALSO_OF_CLERK: tuple[str, ...] = ()


class SomeDags(SimpleAuthManager):
    """Airflow's simple one, but for the user `clerk`."""

    def is_authorized_dag(self, *, user: Any, details: DagDetails | None = None, **arguments: Any) -> bool:
        if user.username == "clerk" and details is not None and details.id not in (OF_CLERK, *ALSO_OF_CLERK):
            return False
        return bool(super().is_authorized_dag(user=user, details=details, **arguments))
