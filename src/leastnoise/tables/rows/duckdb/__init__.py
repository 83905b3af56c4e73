"""Embedded DuckDB, which reads files, databases and frames."""
