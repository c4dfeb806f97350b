#!/bin/bash
# Tricky: no RANK and no master: Horovod reads what mpirun gives.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
mpirun -np 8 -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH python train_hvd.py
