"""`python -m tests.lab --site X`."""

import sys

from tests.lab.shell import main

sys.exit(main())
