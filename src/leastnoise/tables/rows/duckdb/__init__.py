"""Embedded DuckDB, which reads files, databases and frames: for itself, and for Polars."""
