import horovod.torch as hvd
import torch

hvd.init()  # by OMPI_COMM_WORLD_RANK and its neighbours, where Open MPI started it
torch.cuda.set_device(hvd.local_rank())
print(hvd.rank(), hvd.size())
