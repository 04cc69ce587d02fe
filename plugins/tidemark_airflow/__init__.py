"""Tidemark in Airflow: pipeline files become DAGs, whose tasks start Spark jobs by argument and show their results.

Nothing here imports Spark, Delta or Great Expectations: parsing a DAG file stays cheap.
"""
