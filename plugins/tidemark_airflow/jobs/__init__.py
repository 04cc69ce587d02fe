"""Jobs as Airflow sees them: pipeline files, outcomes, progress lines, links and assets."""
