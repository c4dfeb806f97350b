"""Secrets taken out of text before it is stored, shown or sent."""
