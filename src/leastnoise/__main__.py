"""`python -m leastnoise`: the command line, where no script was installed."""

from leastnoise.cli.main import main

if __name__ == "__main__":
    main()
