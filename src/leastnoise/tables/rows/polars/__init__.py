"""Polars, which bounds and sums what DuckDB reads."""
