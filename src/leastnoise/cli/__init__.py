"""The command line. Each file holds one command, or several related commands.

Commands import heavy modules inside their functions, so that `--help` stays fast.
"""
