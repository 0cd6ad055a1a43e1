"""``python -m aswd``: the command line."""

import sys

from aswd.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
