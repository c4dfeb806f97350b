"""Training jobs on a cluster of GPUs, step by step, on measured speeds and gradients; one policy, one file.

The model of a job is that of the Pollux study (Qiao et al., OSDI '21), so that its published times can be compared.
"""
