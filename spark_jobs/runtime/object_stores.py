"""Spark's settings for object stores: the same variables serve Spark, delta-rs and the small files of the lake.

Keys are no settings: Hadoop reads `AWS_ACCESS_KEY_ID` and the like from the environment of each process.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The address of an S3 store that is not Amazon's, and its region.
ENDPOINT, REGIONS = "AWS_ENDPOINT_URL", ("AWS_REGION", "AWS_DEFAULT_REGION")


def conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session by which Spark reads and writes s3a://; none without these variables."""
    settings: dict[str, str] = {}
    if endpoint := environ.get(ENDPOINT):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # Other stores than Amazon's have no name in the network for each bucket.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if region := next((environ[name] for name in REGIONS if environ.get(name)), None):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings
