"""Pages and figures about releases and noise; the extra `report` has matplotlib and plotext."""
