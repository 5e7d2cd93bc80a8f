"""What the parts of a checkpoint mean: state_dicts, optimizers, schedulers … recognised by their content."""
