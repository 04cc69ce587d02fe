"""What goes wrong with tables and is the user's to mend."""

from __future__ import annotations


class SourceError(ValueError):
    """The source cannot be read: what was asked, what was found, what to do."""
