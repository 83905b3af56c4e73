"""Vectors that lie on a cluster: noise is added where their parts are."""
