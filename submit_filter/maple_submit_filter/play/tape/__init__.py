"""A play held, so that the next of nearly the same script need not do all of it again."""
