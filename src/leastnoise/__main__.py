"""`python -m leastnoise` runs the command line, even if no script is installed."""

from leastnoise.cli.main import main

if __name__ == "__main__":
    main()
