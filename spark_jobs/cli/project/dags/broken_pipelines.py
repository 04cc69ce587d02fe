"""No DAG: shows every pipeline file that cannot be used, and why, among Airflow's import errors.

It is a separate file because Airflow takes all DAGs of a file with an import error out of service.
"""

from pathlib import Path

from tidemark_airflow.jobs.pipeline_files import read_folder

read_folder(Path(__file__).parents[1] / "pipelines").require_all()
