"""`python -m springbok`: see `springbok.cli`."""

from __future__ import annotations

import sys

from springbok.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
