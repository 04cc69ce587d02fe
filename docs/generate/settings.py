"""The page of the settings: every environment variable that the product reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docs.generate.environment import readers
from docs.generate.markdown import anchor, code, table


@dataclass(frozen=True)
class Setting:
    """A variable; `readers` is for one that no module of the product reads by itself."""

    meaning: str
    default: str
    readers: str = ""


#: Tidemark's variables.
TIDEMARK: Mapping[str, Setting] = {
    "TIDEMARK_LAKE": Setting(
        "Folder or URI of the lake. Each pipeline has its folder in it. `${TIDEMARK_LAKE}` in a pipeline file has the "
        "same default.",
        "`lake` in the working directory if it exists; otherwise in the nearest folder, from the pipeline file "
        "upwards, that holds a `lake` or the file `tidemark.toml`; otherwise in the working directory. For `make demo` "
        "and `make up`, `lake` in the checkout",
    ),
    "TIDEMARK_SPARK_MASTER": Setting(
        "Spark master of `tidemark` and of Python programs. Under `spark-submit`, the submission decides.",
        "`local[*]`",
    ),
    "TIDEMARK_DRIVER_MEMORY": Setting(
        "Memory of each Spark driver, as Spark writes it. A quarter is for native code where Comet runs the plans.",
        "`4g`",
    ),
    "TIDEMARK_ENGINE": Setting(
        "What runs Spark's plans: `comet` (native code, Apache DataFusion Comet), `spark`, or `auto`. `auto` takes "
        "Comet with a local master on Linux, x86-64 or ARM, and Spark for sources of few rows. The results are "
        "equal.",
        "`auto`",
    ),
    "TIDEMARK_ALLOW_CODE": Setting(
        "`no` refuses pipeline files that name code: the class of a custom watermark, and functions that are not "
        "Spark's own. Set it where the authors of the files may not run code.",
        "`yes`",
    ),
    "TIDEMARK_FORM_SETTINGS": Setting(
        "Further settings that the forms of Airflow may replace, with commas between them, such as "
        "`windows.key,quality`. A key stands for all keys below it.",
        "none: times, emission and mode",
    ),
    "TIDEMARK_PAGES_SHOW_SOURCE": Setting(
        "`yes` lets the pages about rows read and show the columns of source rows, to every reader of the pipeline's "
        "DAG. With `no` they show times, watermarks, windows, key and source partition.",
        "`no`",
    ),
    "TIDEMARK_LEASE_SECONDS": Setting(
        "Seconds for which windows stay reserved for a process that gives no sign of life, from 3 to 3600.", "`60`"
    ),
    "TIDEMARK_CLUSTER_HOME": Setting(
        "Path of Tidemark's environment on the nodes of a cluster, for its drivers.",
        "the path of this environment, or the package that the nodes unpack",
    ),
    "TIDEMARK_PACKAGE": Setting(
        "Address of the archive that `tidemark package` made. Containers unpack it. Except on YARN, it needs "
        "`TIDEMARK_CLUSTER_HOME` beside it.",
        "none",
    ),
    "TIDEMARK_POOL": Setting(
        "Airflow pool of the tasks that start Spark. As many of them run at once as the pool has slots.",
        "`default_pool`; for `make demo` and `make up`, `tidemark`",
    ),
    "TIDEMARK_POOL_SLOTS": Setting(
        "Slots of the pool when it is created. An existing pool keeps its slots.",
        "half of the cores, at least 2",
    ),
    "TIDEMARK_AIRFLOW_PORT": Setting("Port of Airflow's pages, from 1 to 65535.", "`8080`"),
    "TIDEMARK_AIRFLOW_ADDRESS": Setting(
        "Address on which Docker Compose opens Airflow's pages. `0.0.0.0` opens them to other machines.", "`127.0.0.1`"
    ),
    "TIDEMARK_AIRFLOW_DATABASE": Setting(
        "URL of a PostgreSQL database for the metadata of `make demo` and `make up`: "
        "`postgresql://user:password@host:5432/airflow`.",
        "SQLite in the checkout",
    ),
}
#: Variables that Tidemark sets for its processes, and reads again.
INTERNAL: Mapping[str, Setting] = {
    "TIDEMARK_AIRFLOW_HOME": Setting(
        "Marks the processes of a local Airflow with its folder. Do not set it.", "set by `make up`"
    ),
    "TIDEMARK_AIRFLOW_PART": Setting("Names the part of Airflow that a process is. Do not set it.", "set by `make up`"),
    "TIDEMARK_CALLER": Setting(
        "Names the process that started a job beside itself; the job ends with it. Do not set it.",
        "set by tasks of Airflow",
    ),
    "SPARK_ENV_LOADED": Setting(
        "Spark sets it under `spark-submit`. The job then keeps the master and memory of its submission.",
        "set by Spark",
    ),
}
#: Variables of other programs that Tidemark honours.
HONOURED: Mapping[str, Setting] = {
    "AWS_ENDPOINT_URL": Setting(
        "Address of an S3 store that is not Amazon's. The store's other variables, such as its keys, apply too.",
        "Amazon's",
    ),
    "AWS_REGION": Setting("Region of the bucket.", "`AWS_DEFAULT_REGION`"),
    "AWS_DEFAULT_REGION": Setting("Region of the bucket, if `AWS_REGION` is unset.", "that of the machine's role"),
    "GOOGLE_APPLICATION_CREDENTIALS": Setting(
        "File with the key of a service account, for `gs://`.", "the account of the machine"
    ),
    "AZURE_STORAGE_ACCOUNT_NAME": Setting("Account of the store, for `abfss://` with a key.", "none"),
    "AZURE_STORAGE_ACCOUNT_KEY": Setting("Key of this account.", "none"),
    "AZURE_CLIENT_ID": Setting("Client of Microsoft Entra, for `abfss://` without an account's key.", "none"),
    "AZURE_TENANT_ID": Setting("Tenant of this client.", "none"),
    "AZURE_FEDERATED_TOKEN_FILE": Setting("File with a token of this client, as Kubernetes provides.", "none"),
    "AZURE_CLIENT_SECRET": Setting("Secret of this client, if it has no token file.", "none"),
    "JAVA_HOME": Setting(
        "The first Java to try. Spark needs Java 17 or 21.", "`java` on `PATH`, then the Java of set-up"
    ),
    "PATH": Setting(
        "Folders of `java`. The Python and Java of Tidemark come first for its processes.", "the default of Python"
    ),
    "PYTHONPATH": Setting(
        "Folders of Python packages, such as the class of a custom watermark. The checkout comes first.", "none"
    ),
    "SPARK_CONF_DIR": Setting(
        "Folder of Spark's configuration: `spark-defaults.conf`, and `hive-site.xml` of a metastore. Settings that "
        "Tidemark makes itself, such as `spark.sql.extensions`, win.",
        "none; Tidemark limits the log of Spark. With such a folder, Spark starts without the class archive",
    ),
    "JAVA_TOOL_OPTIONS": Setting(
        "Options of each Java. A garbage collector in them replaces Tidemark's choice.", "none"
    ),
    "JDK_JAVA_OPTIONS": Setting("As `JAVA_TOOL_OPTIONS`.", "none"),
    "_JAVA_OPTIONS": Setting("As `JAVA_TOOL_OPTIONS`.", "none"),
    "PYSPARK_DRIVER_PYTHON": Setting(
        "Removed for the processes of Tidemark: it would start another Python.", "ignored"
    ),
    "COMET_LOG_LEVEL": Setting("Level of the log of Comet's native code.", "`warn`"),
    "XDG_STATE_HOME": Setting(
        "Folder of a user's state. `tidemark` writes the output of Spark and Java to `tidemark/logs` in it.",
        "`~/.local/state`",
    ),
    "XDG_CACHE_HOME": Setting(
        "Folder of a user's caches. The jars of Delta are in it if the user cannot write into the environment.",
        "`~/.cache`",
    ),
    "SSL_CERT_FILE": Setting("File of trusted certificates, for the downloads of set-up.", "OpenSSL's", "OpenSSL"),
    "SSL_CERT_DIR": Setting("Folder of trusted certificates, for the downloads of set-up.", "OpenSSL's", "OpenSSL"),
    "DEFAULT_ARTIFACT_REPOSITORY": Setting(
        "Maven repository, or a mirror, from which set-up fetches the jars of Delta.",
        "Maven Central",
        "Spark's resolver",
    ),
    "AIRFLOW_CONN_SPARK_DEFAULT": Setting(
        "Airflow's connection `spark_default`: the Spark of each task. For `make demo` and `make up`.",
        "a local Spark with 2 cores",
    ),
    "OPENLINEAGE_URL": Setting("Endpoint for the results of checks, as OpenLineage events.", "none: no events"),
    "OPENLINEAGE_CONFIG": Setting("File with the OpenLineage configuration.", "none"),
    "OPENLINEAGE__TRANSPORT": Setting(
        "OpenLineage transport. Variables that begin with this name, such as `OPENLINEAGE__TRANSPORT__URL`, count too.",
        "none",
    ),
    "OPENLINEAGE_DISABLED": Setting("`true` switches events off.", "`false`"),
    "OPENLINEAGE_NAMESPACE": Setting("Namespace of the jobs and of tables in a catalog.", "`tidemark`"),
}
#: Parts of the product, by the beginning of a file's path.
_PARTS: Mapping[str, str] = {
    "spark_jobs/runtime/": "set-up, and each start of Spark",
    "spark_jobs/": "commands and jobs",
    "plugins/tidemark_airflow/embedded/": "`make demo`, `make up`",
    "plugins/tidemark_airflow/inspection/": "pages of Airflow",
    "plugins/": "tasks of Airflow",
    "docker/": "Docker Compose",
}
#: Names that the search finds although no program reads their value.
NOT_READ: Mapping[str, str] = {
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "removed from the environment, and set to the local Airflow's database",
    "API_AUTH__JWT_SECRET": "part of the name of an Airflow setting that `make up` sets",
    "API__SECRET_KEY": "part of the name of an Airflow setting that `make up` sets",
    "CORE__FERNET_KEY": "part of the name of an Airflow setting that `make up` sets",
}
_INTRODUCTION = """\
Tidemark reads these environment variables. For each of them, empty means unset. A pipeline file can read
any other variable, as `${NAME}`.
"""
_AIRFLOW = """\
`make demo` and `make up` start a local Airflow. Its settings are variables that they set themselves, `AIRFLOW__...`, so
that another Airflow on the machine has no effect. In your own Airflow, all settings of Airflow apply.
"""


def page() -> str:
    """Return the page."""
    parts = ["# Settings\n", _INTRODUCTION, "## Variables of Tidemark\n", _table(TIDEMARK)]
    parts += ["## Variables of other programs\n", _table(HONOURED), "## Airflow\n", _AIRFLOW]
    parts += ["## Internal variables\n", _table(INTERNAL)]
    return "\n".join(parts)


def _table(settings: Mapping[str, Setting]) -> str:
    return table(("variable", "meaning", "default"), _rows(settings))


def _rows(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str, str]]:
    for name, setting in settings.items():
        read_by = setting.readers or ", ".join(dict.fromkeys(map(_part_of, readers()[name])))
        yield f"{anchor(name)}{code(name)}", f"{setting.meaning} Read by: {read_by}.", setting.default


def _part_of(file: str) -> str:
    return next(part for begin, part in _PARTS.items() if file.startswith(begin))
