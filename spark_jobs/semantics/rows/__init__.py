"""Rows of a source as events: their times, their order, their place on the arrival clock."""
