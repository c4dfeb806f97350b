"""MPL3: launch lines."""
