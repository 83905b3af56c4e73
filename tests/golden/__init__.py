"""Files of earlier versions, which every later version reads, proves and writes alike.

`records` makes statements. `python -m tests.golden.make` writes the statements that have no file
yet, and the tests read all files. A file is changed only if the changelog states a change of its
format.
"""
