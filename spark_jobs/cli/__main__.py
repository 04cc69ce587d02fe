"""Run the command as `python -m spark_jobs.cli`."""

from spark_jobs.cli import main

main()
