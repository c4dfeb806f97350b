"""Lines put together that tell one thing."""
