"""From facts to a verdict."""
