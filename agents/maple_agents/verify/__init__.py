"""Launch lines believed when they have run: a script with mini-apps in place of its programs, and the verdict on it.

`verifying.verify` does it; `records` remembers it. Nothing is imported here: `maple check` reads a record and no more.
"""
