"""The pages 'Data quality' of Airflow: what the checks of every pipeline and run have said, read from the lake."""
