#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
#SBATCH --time=00:30:00
module load pytorch/2.4
nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))
echo "nodes: ${nodes[*]}"
MASTER=${nodes[0]}
echo "master: $MASTER"
srun bash -c "torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=$MASTER --master_port=29650 train.py"
