"""What the makers of mpiexec have in common, and where they differ: options, hosts, layout, rank variables."""
