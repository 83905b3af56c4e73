"""An engine that runs queries in the user's own Spark session, classic or Connect."""
