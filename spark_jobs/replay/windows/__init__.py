"""Windows against the watermark: the window calendar, the lateness of rows, late events."""
