"""Horovod's ranks are MPI's: OMPI_COMM_WORLD_RANK and its like."""

import horovod.torch as hvd

hvd.init()
