"""What earlier versions wrote, and every later one still reads, proves and writes alike.

`records` makes the statements of today, `python -m tests.golden.make` writes those that aren't
there yet, and the tests read back what is. A file is changed only where the changelog says that
the format did.
"""
