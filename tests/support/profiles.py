"""A profile by hand: clicks with a local event time, an arrival time, and candidates for keys."""

from __future__ import annotations

from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.profile import Moment, Pair, Profile, Values
from spark_jobs.jobs.draft.readings import Reading
from spark_jobs.pipeline.model import TimeField

_HOURS = 48 * 3_600_000_000
_TEXTS = [Leaf(path, T.StringType()) for path in (("site",), ("page",), ("payload", "user"))]
_CLICKED, _STORED = Leaf(("clicked",), T.TimestampNTZType()), Leaf(("stored",), T.TimestampType())

CLICKS = Profile(
    rows=10_000,
    moments=[
        Moment(Reading(_CLICKED, TimeField("clicked"), is_local=True), 10_000, step="second", first=0, last=_HOURS),
        Moment(Reading(_STORED, TimeField("stored")), 10_000, rises=1.0, first=0, last=_HOURS),
    ],
    values={"site": Values(3), "page": Values(12), "payload.user": Values(400)},
    pairs={("clicked", "stored"): Pair(1.0, 9.0), ("stored", "clicked"): Pair(0.0, -9.0)},
    leaves={leaf.expression: leaf for leaf in (_CLICKED, _STORED, *_TEXTS)},
    left_out={},
)
