"""What a query asks for: the numbers of a block, how far a unit moves them, and their errors."""
