"""Which noise is the least: every family that fits the query, calibrated, proved and ranked."""
