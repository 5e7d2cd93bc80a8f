"""Two checkpoints side by side in one tab."""
