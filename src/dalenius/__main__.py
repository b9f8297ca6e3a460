"""`python -m dalenius` is the command line."""

import sys

from dalenius.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
