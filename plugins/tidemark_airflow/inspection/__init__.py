"""The pages 'Late rows' and 'Explanation' of Airflow: late and invalid rows of a run, and why rows counted or not."""
