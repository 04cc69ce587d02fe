"""The smoke tests: a few quick tests of each package, which find in three minutes that something is broken."""

from __future__ import annotations

#: For each package, or module beside the packages, test files or tests. `test_smoke` holds this list to the product.
SMOKE: dict[str, tuple[str, ...]] = {
    "spark_jobs/semantics": (
        "tests/unit/semantics/test_reference.py",
        "tests/unit/semantics/test_panes.py",
        "tests/unit/semantics/test_sessions.py",
        "tests/vectors/test_flink_tests.py",
        "tests/vectors/test_flink_joins.py",
    ),
    "spark_jobs/replay": ("tests/unit/replay", "tests/spark/test_aggregates.py"),
    "spark_jobs/pipeline": ("tests/unit/pipeline/test_pipeline_file.py", "tests/unit/pipeline/test_unknown_keys.py"),
    "spark_jobs/tables": (
        "tests/spark/test_staging.py",
        "tests/spark/test_runs.py::test_what_is_staged_is_not_visible",
    ),
    "spark_jobs/jobs": (
        "tests/unit/jobs",
        "tests/spark/test_runs.py::test_published_tables_are_what_the_reference_gives",
        "tests/spark/test_step.py",
    ),
    "spark_jobs/job_protocol": ("tests/unit/test_job_protocol.py",),
    "spark_jobs/cli": (
        "tests/unit/cli",
        "tests/spark/test_cli.py::test_check_names_the_version_that_the_file_fits",
        "tests/spark/test_cli.py::test_plan_tells_what_would_be_read_and_writes_nothing",
    ),
    "spark_jobs/report": ("tests/unit/report/test_bins.py", "tests/unit/report/test_text.py"),
    "spark_jobs/flights": ("tests/unit/flights/test_landing.py",),
    "spark_jobs/runtime": ("tests/unit/runtime/test_environment.py", "tests/unit/runtime/test_java.py"),
    "spark_jobs/session": ("tests/spark/test_session.py",),
    "expectations": (
        "tests/unit/expectations/test_suites.py",
        "tests/spark/test_expectations.py::test_correct_tables_pass_every_invariant",
    ),
    "plugins/tidemark_airflow": ("tests/airflow/test_installation.py", "tests/airflow/test_operators.py"),
    "dags": ("tests/airflow/test_dag_files.py::test_the_projects_dag_files_parse_without_errors_and_without_spark",),
    "docker": ("tests/docker/test_compose.py",),
}
