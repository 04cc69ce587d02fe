"""The description of a DAG is shown to every reader: a variable of the pipeline file stands in it as it was written."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline import load
from tests.airflow.clone import Clone
from tidemark_airflow.dags.dags import pipeline_dag

pytestmark = pytest.mark.airflow


def test_a_description_does_not_show_the_value_of_a_variable(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    path = clone.add("sales", table="s3a://rows/${SALES_KEY}")
    monkeypatch.setenv("SALES_KEY", "a-secret-key")
    assert load(path).source.table == "s3a://rows/a-secret-key"
    dag = pipeline_dag(load(path))
    assert "s3a://rows/${SALES_KEY}" in str(dag.doc_md)
    assert "a-secret-key" not in f"{dag.description} {dag.doc_md}"
