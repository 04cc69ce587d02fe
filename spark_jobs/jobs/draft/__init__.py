"""The first pipeline file of a table, drafted from its schema and its values."""
