"""A graph of pipelines: pipelines that read the published tables of other pipelines."""
