"""A simulator of schedulers: what an ordering of jobs, and what is known of them, would bring. One policy, one file.

`training` steps through the life of deep-learning jobs on measured speeds.
"""
