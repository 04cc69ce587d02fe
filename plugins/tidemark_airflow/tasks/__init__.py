"""Tasks: Airflow operators that start jobs and wait for people."""
