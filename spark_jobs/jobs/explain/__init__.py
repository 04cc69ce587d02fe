"""The job explain: why rows counted or not, and the lives of windows."""
