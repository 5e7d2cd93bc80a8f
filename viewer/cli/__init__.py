"""The command line: the one room that prints and picks exit codes."""
