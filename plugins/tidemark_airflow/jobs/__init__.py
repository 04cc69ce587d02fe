"""What DAGs and tasks know of jobs: requests, arguments, results, progress, links, assets, pipeline files."""
