"""Where rows are and what reads them, as far as the exact integers that noise is added to."""
