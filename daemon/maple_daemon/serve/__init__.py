"""The service: its socket, its answers, its workers."""
