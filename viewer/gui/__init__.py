"""The window: the only room with PySide6. It draws what the engine process found, and never waits."""
