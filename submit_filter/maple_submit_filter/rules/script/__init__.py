"""MPL1: the script and its directives."""
