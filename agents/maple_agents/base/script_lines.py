"""What templates and the scripts that are made of them both say."""

from __future__ import annotations

EXPORTS = "{job.exports}"
"""The slot of a launch line for `-x NAME` of each variable that the script exports, filled once all of it stands."""

BEGINS_AT_HOME = "a PBS job begins in the home directory"
GOES_BACK = 'cd "$PBS_O_WORKDIR"'
"""What every job of PBS says first."""
