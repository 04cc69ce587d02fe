"""Values as JSON text: equal texts for equal values only, also for MAP and VARIANT, which Spark cannot compare."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

# By default, Spark's JSON has the milliseconds of a time.
_EXACT = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def json_text(value: Column) -> Column:
    """Return the text of a STRUCT, ARRAY, MAP or VARIANT; null for null."""
    return F.to_json(value, _EXACT)
