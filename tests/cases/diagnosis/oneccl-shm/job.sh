#!/bin/bash
#SBATCH -N 1
#SBATCH -n 2
export CCL_LOG_LEVEL=info CCL_ATL_TRANSPORT=ofi CCL_ATL_SHM=1 FI_PROVIDER=shm
mpirun -n 2 _install/examples/benchmark/benchmark -i 36 -j off -l allreduce -d bfloat16
