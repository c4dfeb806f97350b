"""MPL4: the environment that processes see."""
