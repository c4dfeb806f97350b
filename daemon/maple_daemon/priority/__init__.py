"""The live path, off by default: waiting jobs that are foretold to be short come forward, within a bound.

It is a process of its own (`maple-daemon --role priority`): what answers submissions asks no scheduler and may change
nothing there. Whatever fails here, jobs stand where the scheduler itself puts them.
"""
