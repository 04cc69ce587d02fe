"""Access to the pages: a user who may read a pipeline's DAG may see the pipeline; Airflow's auth manager decides."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagDetails
from airflow.models.dag import DagModel

from tidemark_airflow.jobs.links import dag_id, pipeline_of


def pipelines_of(user: BaseUser) -> list[str]:
    """Return the pipelines whose DAGs the user may read, by name."""
    dags = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
    pipelines = {pipeline_of(dag) for dag in dags}
    return sorted(name for name in pipelines if name is not None and dag_id(name) in dags)


def may_see(user: BaseUser, pipeline: str) -> bool:
    """True if the user may read the DAG of a pipeline."""
    dag = dag_id(pipeline)
    details = DagDetails(id=dag, team_name=DagModel.get_team_name(dag))
    return get_auth_manager().is_authorized_dag(method="GET", details=details, user=user)


def may_see_import_errors(user: BaseUser) -> bool:
    """True if the user may read the import errors of DAG files."""
    return get_auth_manager().is_authorized_view(access_view=AccessView.IMPORT_ERRORS, user=user)
