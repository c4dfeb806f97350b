"""The service's part of an installation: settings, units, hooks, and whether it is there."""
