"""`make bench-slips`, and `python -m tests.reality.slips [SEED [EACH [WORD]]]`."""

from __future__ import annotations

import sys

from tests.reality.slips.measure import main

sys.exit(main(sys.argv[1:]))
