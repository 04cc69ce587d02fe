"""Panes of tumbling and sliding windows: on-time panes, late panes, triggers, complete results."""
