"""Text and JSON of what was found in a checkpoint: data in, strings out. Nothing here prints."""
