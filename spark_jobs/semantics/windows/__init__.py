"""Windows: which windows a row belongs to, and where each window stands against the watermark."""
