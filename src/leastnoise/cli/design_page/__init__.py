"""The local page of `leastnoise design`: a form made from the schema of a spec, and its server."""
