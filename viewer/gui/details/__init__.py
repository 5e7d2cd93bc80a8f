"""The details beside the tree: what one node is, how its values are distributed, where its bytes lie."""
