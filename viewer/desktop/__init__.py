"""How a desktop learns that this program opens checkpoints. Standard library only."""
