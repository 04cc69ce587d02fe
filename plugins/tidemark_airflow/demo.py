"""Run the main job on real flights: `python -m tidemark_airflow.demo`."""

import sys

from tidemark_airflow.embedded.demo import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
