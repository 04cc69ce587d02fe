"""Quoting: a column's name as SQL, whatever characters it has."""


def quoted(name: str) -> str:
    """Return a column's name in backticks, so that dots and blanks are part of the name."""
    return "`" + name.replace("`", "``") + "`"
