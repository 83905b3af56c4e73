"""Tables that add up: from exact cells to noisy ones, and their sums; read, and checked again."""
