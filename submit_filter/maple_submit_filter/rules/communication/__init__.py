"""MPL5: how ranks find each other."""
