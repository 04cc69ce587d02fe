"""DAGs for pipeline files, and the forms of the DAGs that people trigger."""
