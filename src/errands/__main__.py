"""`python -m errands` is the command `errands`."""

from __future__ import annotations

import sys

from errands.cli import main

sys.exit(main())
