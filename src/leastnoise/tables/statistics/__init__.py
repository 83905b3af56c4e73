"""The statistics of a query, a class each: see `base.Statistic` and `registry`."""
