"""Jobs in a queue before a pool of equal GPUs, nodes or processors: what an ordering would have made of a history.

Sizes are counted, not places: a job runs as soon as as many are free. Jobs do not change their size.
"""
