"""The command line: one file for one command, or a few of a kind. Commands import what is heavy."""
