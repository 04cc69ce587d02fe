"""Explanations: why a row counted or not, what a window went through, and what would have changed it."""
