"""All proofs, as data. Each test file with tests marked `soak` is in exactly one of them.

Paths are named here and in `smoke` alone. A pattern that matches no file is an error of a test.
"""

from __future__ import annotations

from tests.proofs.proof import Proof

#: What each proof depends on: the packages with their versions, Spark's jars, and how its session is opened.
_LOCKED = (
    "requirements.lock",
    "spark_jobs/runtime/**",
    "spark_jobs/session.py",
    "spark_jobs/java_classes.py",
    "spark_jobs/java_objects.py",
    "spark_jobs/local_rows.py",
    "spark_jobs/__init__.py",
    "tests/conftest.py",
)
#: The pipeline file, and the rules twice: in plain Python, and on Spark.
_RULES = ("spark_jobs/pipeline/**", "spark_jobs/error_codes.py", "spark_jobs/semantics/**", "spark_jobs/replay/**")
#: What a run consists of, from its plan to its report.
_RUNS = (
    "spark_jobs/**",
    "!spark_jobs/cases/**",
    "!spark_jobs/cli/**",
    "!spark_jobs/explain/**",
    "!spark_jobs/flights/**",
    "!spark_jobs/inspection/**",
    "!spark_jobs/jobs/explain/**",
    "!spark_jobs/jobs/late/**",
    "expectations/**",
)
_AIRFLOW = (
    "plugins/**",
    "dags/**",
    "spark_jobs/explain/**",
    "spark_jobs/inspection/**",
    "spark_jobs/cases/cells.py",
    "spark_jobs/cases/value_text.py",
)
#: What tests with a lake in an object store share.
_STORES = (
    "tests/support/flaky_proxy.py",
    "tests/support/gateway/**",
    "tests/support/object_store.py",
    "tests/support/places.py",
)
#: What all tests share.
_SUPPORT = (
    "tests/support/**",
    *(f"!{pattern}" for pattern in _STORES),
    "tests/custom_watermarks.py",
    "spark_jobs/cases/__init__.py",
    "spark_jobs/cases/frames.py",
)
#: Which cases are quick.
_SAMPLING = "tests/sampling.py"
_VECTORS = ("tests/vectors/**", "!tests/vectors/**/test_*.py")

_SLICINGS = ("tests/jobs/stage/test_slicings.py", "tests/jobs/stage/test_recorded_slicings.py")
_CHANGES = ("tests/jobs/plan/test_changed_windows.py",)
_SCENARIOS = ("tests/replay/test_scenarios.py",)
_TRIGGERS = ("tests/replay/panes/test_triggers.py", "tests/expectations/suites/test_panes.py")
_JOINS = (
    "tests/replay/joins/test_interval_join.py",
    "tests/replay/joins/test_as_of_join.py",
    "tests/replay/joins/test_window_join.py",
)
_COMPARISONS = (
    "tests/jobs/advise/test_advise.py",
    "tests/replay/native/test_expressions.py",
    "tests/replay/panes/test_complete_results.py",
    "tests/replay/panes/test_late_panes.py",
    "tests/replay/rows/test_column_names.py",
    "tests/replay/rows/test_identical_rows.py",
    "tests/replay/rows/test_left_out.py",
    "tests/replay/watermark/test_custom.py",
    "tests/replay/watermark/test_idleness.py",
    "tests/replay/watermark/test_rounds.py",
    "tests/replay/watermark/test_union.py",
    "tests/replay/windows/test_local_windows.py",
)
_EXPLANATIONS = ("tests/explain/test_*.py", "tests/inspection/test_replayed_explanations.py")
_DRAWINGS = ("tests/worked/test_*.py",)
_CORRUPTIONS = ("tests/expectations/**/test_*.py", "!tests/expectations/suites/test_panes.py")
_CATALOGUE = ("tests/expectations/corruptions/**",)
_PROPERTIES = (
    "tests/replay/test_properties.py",
    "tests/replay/joins/test_copies.py",
    "tests/replay/joins/test_join_properties.py",
)
_ENGINE_JUDGES = (
    "tests/worked/**",
    "tests/replay/**",
    "tests/jobs/**",
    *_SUPPORT,
    *_STORES,
    *_VECTORS,
    _SAMPLING,
    "tests/mutation/**",
)
_KILLS = ("tests/faults/test_kill_moments.py",)
_RACES = (
    "tests/faults/test_commit_races.py",
    "tests/faults/test_stopped_driver.py",
    "tests/faults/test_two_at_once.py",
)
#: Each starts a whole Airflow. The other test files of the folder start none.
_WHOLE_AIRFLOW = (
    "tests/airflow/test_backfill_by_hand.py",
    "tests/airflow/test_cluster.py",
    "tests/airflow/test_decisions.py",
    "tests/airflow/test_demo_in_a_store.py",
    "tests/airflow/test_intervals_in_airflow.py",
    "tests/airflow/test_many_pipelines.py",
    "tests/airflow/test_quality_reading.py",
    "tests/airflow/test_scheduled_runs.py",
    "tests/airflow/test_two_hosts.py",
    "tests/browser/test_airflow.py",
)
_ENGINES = ("tests/jobs/runs/test_engines_agree.py",)
_BITS = (
    "tests/jobs/runs/test_bits_of_runs.py",
    "tests/replay/floats/test_on_spark.py",
    "tests/replay/floats/test_replays.py",
)
_PAGES = ("tests/docs/test_documentation.py", "tests/examples/test_*.py", "tests/semantics/test_other_systems.py")
_INSTALLED = ("tests/cli/test_installed_with_pip.py",)


def _without(*tests: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"!{pattern}" for patterns in tests for pattern in patterns if not pattern.startswith("!"))


_OTHER_RUNS = (
    "tests/cases/test_*.py",
    "tests/cli/test_*.py",
    "tests/jobs/**/test_*.py",
    "tests/newcomer/test_*.py",
    "tests/replay/**/test_*.py",
    "tests/tables/test_*.py",
    "tests/test_session.py",
    *_without(_SLICINGS, _CHANGES, _SCENARIOS, _TRIGGERS, _JOINS, _COMPARISONS, _PROPERTIES, _ENGINES, _BITS),
    *_without(_INSTALLED),
)
_OTHER_FAULTS = ("tests/faults/test_*.py", *_without(_KILLS, _RACES))

PROOFS = (
    Proof(
        "slicings",
        "A history can be cut into runs in any way and order: the published tables are those of one job.",
        "Users backfill and repair in pieces. A wrong seam between two runs shows in no single run.",
        tests=_SLICINGS,
        depends=(*_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_SLICINGS),
        case_s=25,
        is_whole=True,
    ),
    Proof(
        "changes",
        "After any edit of the source, a run over changes publishes the tables of a full replay.",
        "Users mend the past. A window that should have been computed and was not is wrong for ever.",
        tests=_CHANGES,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_CHANGES),
        case_s=40,
        optimizes_java=True,
    ),
    Proof(
        "kills",
        "A driver that is killed at any moment leaves a whole run or none, and the same command finishes it.",
        "Drivers die. Half a run that readers see as a result is worse than no result.",
        tests=_KILLS,
        depends=(*_LOCKED, *_RUNS, *_SUPPORT, *_STORES, "tests/faults/**", "!tests/faults/**/test_*.py", *_KILLS),
        case_s=60,
    ),
    Proof(
        "races",
        "Two runs at once publish the same tables as one run after the other, or one of them is refused or ends.",
        "A scheduled run and a backfill by hand meet in one lake, a folder or a store, without a server between them.",
        tests=_RACES,
        depends=(*_LOCKED, *_RUNS, *_SUPPORT, *_STORES, "tests/faults/**", "!tests/faults/**/test_*.py", *_RACES),
        case_s=60,
    ),
    Proof(
        "scenarios",
        "Spark returns what Apache Flink returned, to the row, for each recorded scenario of windows.",
        "It is the claim of the project.",
        tests=_SCENARIOS,
        depends=(_SAMPLING, *_LOCKED, *_RULES, *_SUPPORT, *_VECTORS, *_SCENARIOS),
        case_s=1.5,
        is_whole=True,
    ),
    Proof(
        "triggers",
        "Spark returns what Flink returned for each recorded scenario of triggers, and the audit agrees.",
        "Early and repeated panes depend on the order of rows and ticks more than any other result.",
        tests=_TRIGGERS,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_CATALOGUE, *_TRIGGERS),
        case_s=2,
    ),
    Proof(
        "joins",
        "Spark returns what Flink returned for each recorded interval join, as-of join and window join.",
        "A join keeps rows of two inputs by the slower watermark: each input alone can be right and the join wrong.",
        tests=_JOINS,
        depends=(_SAMPLING, *_LOCKED, *_RULES, *_SUPPORT, *_VECTORS, *_JOINS),
        case_s=1.5,
    ),
    Proof(
        "comparisons",
        "Spark returns what the reference in plain Python returns, for each setting that Flink's records do not cover.",
        "Idle partitions, late rows, several sources and custom watermarks combine in more ways than can be recorded.",
        tests=_COMPARISONS,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_COMPARISONS),
        case_s=2,
    ),
    Proof(
        "drawings",
        "The reference and Spark return what each drawing shows, and Flink returned the same.",
        "A drawing is the rule that a reader checks by eye.",
        tests=_DRAWINGS,
        depends=(_SAMPLING, *_LOCKED, *_RULES, *_SUPPORT, *_VECTORS, "spark_jobs/cases/**", "tests/worked/**"),
        case_s=2,
    ),
    Proof(
        "engines",
        "Runs with Comet and without publish equal tables: a year of flights, a million events of the benchmark.",
        "A user gets the engine that the machine has, and must not see which.",
        tests=_ENGINES,
        depends=(
            *_LOCKED,
            *_RUNS,
            *_SUPPORT,
            "spark_jobs/flights/**",
            "dags/pipelines/departures_by_carrier.yaml",
            "tests/benchmarks/bench.yaml",
            "tests/benchmarks/events.py",
            "tests/benchmarks/pipelines.py",
            "tests/benchmarks/shapes.py",
            *_ENGINES,
        ),
        case_s=90,
    ),
    Proof(
        "bits",
        "The same pipeline over the same rows has the same bits, however files, partitions, slices and engines differ.",
        "A sum that changes in its last digit makes two equal runs differ, and nobody can tell why.",
        tests=_BITS,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_BITS),
        case_s=60,
    ),
    Proof(
        "explanations",
        "The explanation of each row and window has the watermarks, verdicts and panes of the streaming job.",
        "An explanation that is wrong once is worse than none: people change settings by it.",
        tests=_EXPLANATIONS,
        depends=(
            *(_SAMPLING, *_LOCKED, *_RULES, *_SUPPORT, *_VECTORS),
            "spark_jobs/explain/**",
            "spark_jobs/inspection/**",
            "spark_jobs/job_protocol.py",
            "spark_jobs/tables/**",
            "tests/explain/**",
            *_EXPLANATIONS,
        ),
        case_s=12,
    ),
    Proof(
        "corruptions",
        "The audit finds each way in the catalogue to corrupt a staged run, and no fault in a whole one.",
        "The audit is the last look before results are published.",
        tests=_CORRUPTIONS,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_CATALOGUE, *_CORRUPTIONS),
        case_s=12,
    ),
    Proof(
        "properties",
        "Laws hold on Spark for thousands of drawn histories: order of storage, partitions and files change nothing.",
        "Drawn cases reach what nobody thought of.",
        tests=_PROPERTIES,
        depends=(_SAMPLING, *_LOCKED, *_RUNS, *_SUPPORT, *_VECTORS, *_PROPERTIES),
        case_s=120,
    ),
    Proof(
        "runs",
        "Whole runs publish, roll back, repair, compact and hand over as the documentation describes.",
        "These are the commands that users type.",
        tests=_OTHER_RUNS,
        depends=(
            _SAMPLING,
            *_LOCKED,
            "spark_jobs/**",
            "expectations/**",
            "tests/faults/drivers.py",
            "tests/newcomer/brute_force.py",
            "tests/docs/examples.py",
            "docs/examples/land.py",
            "docs/generate/__init__.py",
            "docs/generate/examples/**",
            "tests/airflow/waiting.py",
            "tests/inspection/test_holding_partitions.py",
            *_VECTORS,
            *_SUPPORT,
            *_STORES,
            *_OTHER_RUNS,
        ),
        case_s=30,
    ),
    Proof(
        "faults",
        "Failing tasks, full disks and drivers killed during maintenance lose nothing that was published.",
        "Maintenance deletes files. Nothing else in the project does.",
        tests=_OTHER_FAULTS,
        depends=(
            _SAMPLING,
            *_LOCKED,
            *_RUNS,
            *_SUPPORT,
            *_STORES,
            "tests/airflow/waiting.py",
            "tests/faults/**",
            *_without(_KILLS, _RACES),
        ),
        case_s=60,
    ),
    Proof(
        "airflow",
        "Airflow runs pipelines on schedule, by backfill, with approval, many at once and in a cluster.",
        "A DAG that parses can still wait for ever.",
        tests=_WHOLE_AIRFLOW,
        depends=(
            *_LOCKED,
            *_RUNS,
            *_AIRFLOW,
            "tests/airflow/**",
            "!tests/airflow/test_*.py",
            "tests/browser/**",
            "!tests/browser/test_*.py",
            *_WHOLE_AIRFLOW,
            "tests/faults/**",
            "!tests/faults/**/test_*.py",
            "tests/support/sample_report_runs.py",
            *_SUPPORT,
            *_STORES,
        ),
        case_s=120,
    ),
    Proof(
        "browser",
        "The report and Airflow's pages work in a browser: wide and narrow, light and dark, by keyboard.",
        "A page can be correct as text and unusable on a screen.",
        tests=("tests/browser/test_*.py", "!tests/browser/test_airflow.py"),
        depends=(
            _SAMPLING,
            *_LOCKED,
            *_RUNS,
            *_AIRFLOW,
            "tests/browser/**",
            "tests/airflow/**",
            "!tests/airflow/test_*.py",
            "tests/support/sample_report_runs.py",
            *_SUPPORT,
        ),
        case_s=6,
    ),
    Proof(
        "documentation",
        "Each command, pipeline file and query of the documentation works and gives the output that the page shows.",
        "Readers type what a page shows.",
        tests=_PAGES,
        depends=(
            _SAMPLING,
            *_LOCKED,
            "spark_jobs/**",
            "expectations/**",
            "docs/**",
            "README.md",
            "Makefile",
            "tests/docs/**",
            "tests/examples/**",
            *_PAGES,
            *_SUPPORT,
        ),
        case_s=60,
    ),
    Proof(
        "docker",
        "The image and the compose file make a whole installation that runs a pipeline.",
        "It is how the project is put into service.",
        tests=("tests/docker/test_*.py",),
        depends=(
            *_LOCKED,
            "docker/**",
            "pyproject.toml",
            "requirements-build.lock",
            *_RUNS,
            *_AIRFLOW,
            "tests/docker/**",
            *_SUPPORT,
            *_STORES,
            "tests/airflow/**",
            "!tests/airflow/test_*.py",
        ),
        case_s=120,
    ),
    Proof(
        "installed",
        "The wheel works in an empty environment: a new project is replayed, its DAGs are read, its tests pass.",
        "Users have the wheel and no checkout.",
        tests=_INSTALLED,
        depends=(
            *_LOCKED,
            "spark_jobs/**",
            "expectations/**",
            "plugins/**",
            "pyproject.toml",
            "requirements-build.lock",
            *_INSTALLED,
        ),
        case_s=200,
    ),
    Proof(
        "benchmarks",
        "The benchmark's answers are right, a run that goes on is quicker than one from the start, the audit is quick.",
        "They measure time, so they run alone.",
        tests=("tests/benchmarks/test_*.py",),
        depends=(
            *_LOCKED,
            *_RUNS,
            "spark_jobs/flights/**",
            *_SUPPORT,
            *_STORES,
            *_AIRFLOW,
            "tests/airflow/**",
            "!tests/airflow/test_*.py",
            "tests/faults/drivers.py",
            "tests/proofs/content.py",
            "tests/proofs/patterns.py",
            "tests/benchmarks/**",
            "Makefile",
        ),
        case_s=90,
        runs_alone=True,
    ),
    Proof(
        "mutations_reference",
        "The quick tests of the reference fail if one comparison, sum or condition of it is broken.",
        "The reference judges Spark, so its own tests must notice each fault.",
        tests=("tests/mutation/reference_mutants.py",),
        depends=(
            _SAMPLING,
            "requirements.lock",
            "tests/conftest.py",
            "tests/semantics/**",
            "tests/worked/**",
            *_VECTORS,
            "tests/vectors/test_*.py",
            "tests/mutation/**",
        ),
        case_s=60,
        subject=r"(spark_jobs/semantics/[\w/]+\.py)",
        subjects=("spark_jobs/semantics/**",),
    ),
    Proof(
        "reach",
        "The quick comparisons pass on the whole engine; the lines that each of them runs are measured and kept.",
        "The next proof needs it: a mutant is judged by the tests that reach its line.",
        tests=("tests/mutation/engine_reach.py",),
        depends=(*_LOCKED, *_RULES, *_ENGINE_JUDGES),
        case_s=60,
    ),
    Proof(
        "mutations_engine",
        "The quick comparisons with the reference fail if one comparison, sum or condition on Spark is broken.",
        "A comparison proves little if it passes for a broken engine as well.",
        tests=("tests/mutation/engine_mutants.py",),
        depends=(*_LOCKED, *_ENGINE_JUDGES),
        case_s=60,
        subject=r"(spark_jobs/replay/[\w/]+\.py)",
        subjects=("spark_jobs/replay/**",),
    ),
)
