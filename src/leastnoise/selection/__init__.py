"""Which noise is the least: every family that fits the query, calibrated, proved and ranked."""

from leastnoise.selection.search import calibrate, compare, least_noise

__all__ = ["calibrate", "compare", "least_noise"]
