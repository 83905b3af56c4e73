"""Integer noise on the cells of a tree whose sums over nodes have little noise, too."""
