"""Which noise the blocks of a release get, decided from public numbers alone."""
