"""What a value in a file means: casts, lines, pages of Parquet, damaged Arrow columns."""
