"""The statistics that a query may ask for, a class each: see `base.Statistic` and `registry`."""
