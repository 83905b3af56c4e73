"""Read values from files and frames: casts, lines of CSV, Parquet, and checks of Arrow columns."""
