"""Floating numbers: sums, averages and moments that have the same bits in every order of their values."""
