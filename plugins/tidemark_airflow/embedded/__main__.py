"""Start or end the embedded Airflow: `python -m tidemark_airflow.embedded up` or `down`."""

import sys

from tidemark_airflow.embedded.airflow import main

sys.exit(main(sys.argv[1:]))
