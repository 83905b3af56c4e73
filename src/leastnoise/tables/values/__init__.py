"""Values in files: casts, lines of CSV, pages of Parquet, damaged Arrow columns."""
