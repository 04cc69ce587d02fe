"""The name by which pipeline files and fingerprints know the watermark generator that learns its bound."""

from spark_jobs.semantics.watermark.detected_bound import DetectedBound

__all__ = ["DetectedBound"]
