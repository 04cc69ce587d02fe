"""The same bits: aggregates on columns whose values do not depend on the order or the grouping of rows."""
