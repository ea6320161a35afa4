"""``python -m pytest_evalmetrics``: the command."""

import sys

from pytest_evalmetrics.commands import main

if __name__ == "__main__":
    sys.exit(main())
