"""What the parts of a checkpoint mean: optimizer, model, other parts, checks."""
