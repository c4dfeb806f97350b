#!/usr/bin/env python3
"""Say who this process is and where it runs, and end: no rendezvous, standard library only."""

import os
import sys

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases


def body(run: phases.Run) -> None:
    """What is said of every rank before it begins is all there is to say."""


if __name__ == "__main__":
    phases.run("probe", body)
