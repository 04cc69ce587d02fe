"""Panes: when a window fires, and what each firing contains."""
