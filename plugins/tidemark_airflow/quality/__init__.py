"""The pages 'Data quality' of Airflow: what the results of the checks of every pipeline and run, read from the lake."""
