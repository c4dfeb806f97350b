"""Nodes with rates between them on this machine: namespaces joined by a bridge, and ranks that talk over TCP."""
