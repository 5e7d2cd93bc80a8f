"""What a person should know before training goes on from a checkpoint: checks, each with its remedy."""
