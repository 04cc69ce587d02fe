"""Watermarks: generators for source partitions, and how the watermarks of many combine into the watermark of all."""
