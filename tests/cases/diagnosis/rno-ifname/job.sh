#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export NCCL_SOCKET_IFNAME="^ibs,ibp,lo,docker,veth,cilium,lxc"
srun python -m experiments.grug.train
