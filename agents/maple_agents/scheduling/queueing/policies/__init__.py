"""Policies, one file each: `POLICY`, or a function `policy` that makes one of what it must know."""
