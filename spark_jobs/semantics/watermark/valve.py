"""A valve merges the channels of a shuffle: the minimum over the aligned channels. A straggler does not hold it up.

    w_c        the highest watermark that channel c has sent while it was active and the valve not idle, MIN at first
    aligned    c counts in the minimum: from the beginning, not while idle, and after idleness only once w_c >= C
    C          what was last sent; rises to the minimum of w_c over the aligned c whenever that is larger

A channel that falls idle with w_c = C releases what it held back: the minimum over the other channels. If it was the
last active one, the maximum over all is sent before the valve itself is idle. A channel that falls idle with another
w_c changes no watermark.

An active channel that is not aligned yet does not count: without an aligned channel nothing is sent. A partition that
becomes active behind the others stops a source (`multiplexer`); a channel does not stop a valve. Rules 35-38, as in
Flink 2.3.0 (rules 36 and 37 before semantics V4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import advances, has_caught_up
from spark_jobs.semantics.watermark.generators import WatermarkOutput


class Valve:
    """The channels of one input; the minimum goes `downstream`. Raises ValueError for fewer than one channel."""

    def __init__(self, channels: int, downstream: WatermarkOutput) -> None:
        if channels < 1:
            raise ValueError(f"found a valve of {channels} channels; it must have at least 1")
        self._channels = tuple(_Channel(self) for _ in range(channels))
        self._downstream = downstream
        self._watermark = MIN
        self._is_idle = False

    @property
    def channels(self) -> Sequence[WatermarkOutput]:
        """The output for the sender of each channel."""
        return self._channels

    @property
    def watermarks(self) -> Sequence[int]:
        """The watermark of every channel."""
        return tuple(channel.watermark for channel in self._channels)

    def take(self, channel: _Channel, watermark: int) -> None:
        """Take a channel's watermark, unless the channel or the valve is idle or it is not the channel's highest."""
        if self._is_idle or channel.is_idle or not advances(watermark, channel.watermark):
            return
        channel.watermark = watermark
        channel.is_aligned = channel.is_aligned or has_caught_up(watermark, self._watermark)
        self._send_minimum()

    def fall_idle(self, channel: _Channel) -> None:
        """Take a channel that was active out of the minimum."""
        channel.is_idle, channel.is_aligned = True, False
        held_back = channel.watermark == self._watermark
        if not all(other.is_idle for other in self._channels):
            if held_back:
                self._send_minimum()
            return
        if held_back:
            self._send(max(self.watermarks))
        self._is_idle = True
        self._downstream.mark_idle()

    def wake(self, channel: _Channel) -> None:
        """Make an idle channel active; it counts if it is not behind."""
        channel.is_idle = False
        channel.is_aligned = has_caught_up(channel.watermark, self._watermark)
        if self._is_idle:
            self._is_idle = False
            self._downstream.mark_active()

    def _send_minimum(self) -> None:
        self._send(min((channel.watermark for channel in self._channels if channel.is_aligned), default=MIN))

    def _send(self, watermark: int) -> None:
        if advances(watermark, self._watermark):
            self._watermark = watermark
            self._downstream.emit_watermark(watermark)


@dataclass
class _Channel:
    valve: Valve = field(repr=False)
    watermark: int = MIN
    is_idle: bool = False
    is_aligned: bool = True

    def emit_watermark(self, watermark: int) -> None:
        self.valve.take(self, watermark)

    def mark_idle(self) -> None:
        if not self.is_idle:
            self.valve.fall_idle(self)

    def mark_active(self) -> None:
        if self.is_idle:
            self.valve.wake(self)
