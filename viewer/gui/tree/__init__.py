"""The tree of a checkpoint: what is shown (Qt-free), the item model, and the view."""
