"""Rank and size come from MPI."""

from mpi4py import MPI

print(MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())
