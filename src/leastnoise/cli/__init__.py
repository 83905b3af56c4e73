"""The command line: one file for a command, or a few of a kind.

Commands import heavy modules late.
"""
