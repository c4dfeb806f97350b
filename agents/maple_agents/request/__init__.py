"""From a request in words, or from a script of any site, to typed slots."""
