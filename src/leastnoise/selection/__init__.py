"""Which noise is the least: every family that fits the query, calibrated, proved and ranked."""

from leastnoise.selection.search import calibrate, compare, least_noise
from leastnoise.selection.together import calibrate_together

__all__ = ["calibrate", "calibrate_together", "compare", "least_noise"]
