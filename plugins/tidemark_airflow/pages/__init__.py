"""Pages that Airflow serves for Tidemark: the plugin and the reports."""
