"""An output that keeps what a generator emits."""

from __future__ import annotations


class Output(list[int]):
    """The watermarks in order; `is_idle` is the last state of idleness, a watermark counting as activity."""

    is_idle = False

    def emit_watermark(self, watermark: int) -> None:
        self.append(watermark)
        self.is_idle = False

    def mark_idle(self) -> None:
        self.is_idle = True

    def mark_active(self) -> None:
        self.is_idle = False
