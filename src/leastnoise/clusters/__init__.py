"""Release vectors that are stored on a cluster (dask or Spark): its workers add the noise."""
