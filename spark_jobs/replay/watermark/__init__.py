"""Watermarks in closed form: the census of rows, the combined watermark, its advances over time."""
