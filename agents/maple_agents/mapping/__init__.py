"""Ranks against the hardware: who talks to whom, over which links, and what another order would cost."""
