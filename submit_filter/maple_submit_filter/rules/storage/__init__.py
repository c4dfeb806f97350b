"""MPL6: paths and folders."""
