"""The runtime of Spark: a Java, Delta's jars, and the settings and variables by which a process finds both.

Set-up installs them once, below `sys.prefix`, and nothing is fetched later. An environment made by pip gets them at its
first use. Standard library only: Airflow's plugins import this package, and must not import Spark.
"""

from spark_jobs.runtime.environment import driver_conf, process_environment, spark_conf
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import jars_dir
from spark_jobs.runtime.java import JavaHome, find_java

__all__ = ["JavaHome", "RuntimeSetupError", "driver_conf", "find_java", "jars_dir", "process_environment", "spark_conf"]
