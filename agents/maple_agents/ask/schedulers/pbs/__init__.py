"""PBS: libpbs, and its commands where that cannot be loaded."""
