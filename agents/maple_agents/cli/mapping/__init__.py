"""`maple map`: ranks against the hardware."""
