"""Release vectors on a cluster: noise is added where the parts of the vector are."""
