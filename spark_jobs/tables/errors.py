"""Errors of tables that the user can repair."""

from __future__ import annotations


class SourceError(ValueError):
    """The source cannot be read. The message states the cause, the value found and what to do."""


class LakeError(Exception):
    """The lake cannot be read; the message is one line with the path and the problem."""
