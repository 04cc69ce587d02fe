"""The ground Spark stands on: a Java, Delta's jars, and the settings and variables that make a process find both.

Set-up brings them once, below `sys.prefix`; nothing is fetched after it. Standard library only: Airflow's plugins
import this package, and they must not pull in Spark.
"""

from spark_jobs.runtime.environment import driver_conf, process_environment, spark_conf
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import jars_dir
from spark_jobs.runtime.java import JavaHome, find_java

__all__ = ["JavaHome", "RuntimeSetupError", "driver_conf", "find_java", "jars_dir", "process_environment", "spark_conf"]
