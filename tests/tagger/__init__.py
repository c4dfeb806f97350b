"""Requests made up by a seed, each with the slots of its words; the tagger is trained by them: `make tagger`."""
