"""Puts Maple in front of a site's submit command, and takes it away again without a trace."""
