"""The user's own Spark session, classic or Connect, which reads and casts by itself."""
