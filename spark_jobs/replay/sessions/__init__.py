"""Sessions on columns: components, the scan of unclean components, panes."""
