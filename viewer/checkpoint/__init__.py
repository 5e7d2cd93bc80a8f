"""What a checkpoint is, free of any file format, of torch and of Qt. Standard library only."""
