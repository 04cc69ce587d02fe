"""The Airflow that lives in this folder: start, stop, health, one DAG run, the demo."""
