"""Published tables: their columns, their values from noisy vectors, and their files."""
