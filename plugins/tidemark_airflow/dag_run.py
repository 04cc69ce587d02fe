"""Run one DAG in this process: `python -m tidemark_airflow.dag_run DAG_ID RESULT.json`."""

import sys

from tidemark_airflow.embedded.dag_run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
