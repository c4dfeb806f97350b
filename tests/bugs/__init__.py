"""Bugs put into the code, one at a time, to see which tests notice."""
