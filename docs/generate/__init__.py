"""Generated pages: the reference part of the documentation, made from the code, and the pages of the examples.

A page that differs from the code fails `tests/docs/test_reference_pages.py`.
"""
