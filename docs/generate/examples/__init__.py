"""The examples of `docs/examples`: folders, their results by the reference, their pictures, and the pages of them."""
