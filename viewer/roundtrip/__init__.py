"""Does it survive? Tensors saved and reloaded in each way that people use, and what changed."""
