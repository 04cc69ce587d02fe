"""The smoke tests: a few quick tests of each package, which find in three minutes that something is broken."""

from __future__ import annotations

#: For each package, or module beside the packages, test files or tests. `test_smoke` holds this list to the product.
SMOKE: dict[str, tuple[str, ...]] = {
    "spark_jobs/semantics": (
        "tests/semantics/test_reference.py",
        "tests/semantics/panes/test_window_operator.py",
        "tests/semantics/sessions/test_session_operator.py",
        "tests/vectors/test_flink_tests.py",
        "tests/vectors/test_flink_joins.py",
    ),
    "spark_jobs/replay": (
        "tests/replay/sessions/test_session_scan.py",
        "tests/replay/test_supported.py",
        "tests/replay/panes/test_aggregates.py",
    ),
    "spark_jobs/pipeline": ("tests/pipeline/test_pipeline_file.py", "tests/pipeline/test_unknown_keys.py"),
    "spark_jobs/cases": ("tests/cases/test_cells.py", "tests/cases/test_running.py"),
    "spark_jobs/explain": ("tests/explain/test_life.py",),
    "spark_jobs/inspection": ("tests/inspection/test_bounded_source.py", "tests/inspection/test_missed_page.py"),
    "spark_jobs/tables": (
        "tests/tables/test_staging.py",
        "tests/jobs/runs/test_whole_runs.py::test_staged_rows_are_not_visible",
    ),
    "spark_jobs/jobs": (
        "tests/jobs/stage/test_slices.py",
        "tests/jobs/advise/test_candidates.py",
        "tests/jobs/runs/test_whole_runs.py::test_published_tables_are_what_the_reference_gives",
        "tests/jobs/test_step.py",
    ),
    "spark_jobs/figures": ("tests/test_figures.py",),
    "spark_jobs/error_codes": ("tests/cli/test_explain_command.py",),
    "spark_jobs/code_of_error": ("tests/test_code_of_error.py",),
    "spark_jobs/job_protocol": ("tests/test_job_protocol.py",),
    "spark_jobs/cli": (
        "tests/cli/test_command.py",
        "tests/cli/test_app.py::test_check_names_the_version_that_the_file_fits",
        "tests/cli/test_app.py::test_plan_counts_the_rows_to_read_and_writes_nothing",
    ),
    "spark_jobs/report": ("tests/report/test_bins.py", "tests/report/test_text.py"),
    "spark_jobs/flights": ("tests/flights/test_landing.py",),
    "spark_jobs/runtime": ("tests/runtime/test_environment.py", "tests/runtime/test_java.py"),
    "spark_jobs/java_classes": ("tests/test_java_classes.py",),
    "spark_jobs/java_objects": ("tests/test_java_objects.py",),
    "spark_jobs/local_rows": ("tests/test_local_rows.py",),
    "spark_jobs/session": ("tests/test_session.py",),
    "spark_jobs/warm_up": ("tests/runtime/test_class_archive.py",),
    "expectations": (
        "tests/expectations/test_suites.py",
        "tests/expectations/test_run.py::test_correct_tables_pass_every_invariant",
    ),
    "plugins/tidemark_airflow": ("tests/airflow/test_installation.py", "tests/airflow/test_operators.py"),
    "dags": ("tests/airflow/test_dag_files.py::test_the_projects_dag_files_parse_without_errors_and_without_spark",),
    "docker": ("tests/docker/test_compose.py",),
}
