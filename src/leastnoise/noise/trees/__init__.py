"""Integer noise on the cells of a tree, with little noise in the sums over its nodes, too."""
