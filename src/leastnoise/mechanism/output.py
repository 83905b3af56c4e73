"""Files that appear whole or not at all."""

from leastnoise._files import try_file, umask, write_file

__all__ = ["try_file", "umask", "write_file"]
