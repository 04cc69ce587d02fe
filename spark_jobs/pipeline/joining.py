"""A joining pipeline has two inputs: what each reads, how its watermark moves, its key, and how near rows must be.

    two sources   each has its own partitions and watermark; the join's watermark is the minimum over both
    one source    its rows are split behind it by a condition; its watermark is that of both inputs

Emissions are of one clock. Frozen data, valid from the moment it exists; durations are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spark_jobs.pipeline.model import Emit, Join, Pipeline, ReplayOrder, Source, Watermark, Windows
from spark_jobs.semantics.joins.interval_join import JoinBounds


@dataclass(frozen=True)
class JoinInput:
    """One input: its source, how that source's watermark moves, and the columns that must be equal to the other's.

    The emission of `watermark` is not looked at: the pipeline has one for both.
    """

    source: Source
    watermark: Watermark
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class JoiningPipeline:
    """A whole pipeline with two inputs. Raises ValueError for inputs that do not go together.

    `right_when` is the SQL condition by which one source is split: rows of which it is true are the right input's, all
    others the left's. None: two sources.
    """

    name: str
    left: JoinInput
    right: JoinInput
    emit: Emit = field(default_factory=Emit)
    replay: ReplayOrder = field(default_factory=ReplayOrder)
    right_when: str | None = None

    def __post_init__(self) -> None:
        if len(self.left.key) != len(self.right.key):
            raise ValueError(
                f"found {len(self.left.key)} key columns on the left and {len(self.right.key)} on the right; "
                "a join compares them one by one"
            )
        is_shared = (self.left.source, self.left.watermark) == (self.right.source, self.right.watermark)
        if self.right_when is not None and not is_shared:
            raise ValueError("found right_when, which splits one source, and two sources; keep one of them")

    @property
    def inputs(self) -> tuple[JoinInput, JoinInput]:
        """The left input and the right one."""
        return (self.left, self.right)

    def of(self, joined: JoinInput, windows: Windows) -> Pipeline:
        """Return the pipeline that reads one input alone."""
        return Pipeline(
            name=self.name,
            source=joined.source,
            windows=windows,
            watermark=replace(joined.watermark, emit=self.emit),
            replay=self.replay,
        )


def joining(pipeline: Pipeline) -> JoiningPipeline:
    """Return the inputs of a pipeline with a join. Raises ValueError for one without."""
    declared = _join(pipeline)
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline, pipeline]
    left, right = (JoinInput(p.source, p.watermark, key) for p, key in zip(alone, declared.key, strict=True))
    return JoiningPipeline(
        pipeline.name, left, right, pipeline.watermark.emit, pipeline.replay, right_when=declared.second_when
    )


def bounds(pipeline: Pipeline) -> JoinBounds:
    """Return how far apart rows of an interval join may be. Raises ValueError for a pipeline without one."""
    declared = _join(pipeline)
    if declared.lower_ms is None or declared.upper_ms is None:
        kind = "as of a time" if declared.is_as_of else "by window"
        raise ValueError(f"{pipeline.name}: found a join {kind}, which has no bounds")
    return JoinBounds(declared.lower_ms, declared.upper_ms, declared.lower_inclusive, declared.upper_inclusive)


def _join(pipeline: Pipeline) -> Join:
    if pipeline.join is None:
        raise ValueError(f"{pipeline.name}: found a pipeline without a join")
    return pipeline.join
