"""Access to a pipeline: who may read or start its DAG may see it or start forms for it; the auth manager decides."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity, DagDetails
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


def may_start(user: BaseUser, pipeline: str) -> bool:
    """True if the user may start runs of the DAG of a pipeline."""
    dag = dag_id(pipeline)
    details = DagDetails(id=dag, team_name=DagModel.get_team_name(dag))
    manager = get_auth_manager()
    return manager.is_authorized_dag(method="POST", access_entity=DagAccessEntity.RUN, details=details, user=user)


def may_see_import_errors(user: BaseUser) -> bool:
    """True if the user may read the import errors of DAG files."""
    return get_auth_manager().is_authorized_view(access_view=AccessView.IMPORT_ERRORS, user=user)
