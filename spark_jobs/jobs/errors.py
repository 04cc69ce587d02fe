"""What a job says when it cannot do what was asked."""

from __future__ import annotations


class InputError(ValueError):
    """The user's own mistake: what was asked, what was found, what to do. Exit code 2."""


class BlockedError(RuntimeError):
    """A quality gate that did not open: which checks failed. Exit code 3.

    `asks`: the pipeline wants a person to be asked whether to publish all the same.
    """

    def __init__(self, reason: str, *, asks: bool = False) -> None:
        super().__init__(reason)
        self.asks = asks


class StaleError(InputError):
    """The run was planned on results that are no longer the published ones; the same asked for again is a new run."""
