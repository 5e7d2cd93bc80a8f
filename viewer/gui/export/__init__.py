"""Exports, checks of files and names of contents, in the window."""
