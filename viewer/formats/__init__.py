"""How a file becomes a checkpoint, without running anything in it. Standard library only."""
