"""The command line: one file a command. Heavy modules are imported inside the commands."""
