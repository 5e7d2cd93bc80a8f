"""The background process that reads files and touches tensors, and its client in the window's process. No Qt.

A fault of a file, a library or a device ends this process and not the window: the client starts it again and gives
the open documents back under their numbers.
"""
