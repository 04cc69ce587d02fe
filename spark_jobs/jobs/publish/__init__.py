"""Publishing: staged tables become the published tables."""
