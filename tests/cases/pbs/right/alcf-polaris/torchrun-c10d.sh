#!/bin/bash
#PBS -N llama-ft
#PBS -A AlphaTrain
#PBS -q debug-scaling
#PBS -l select=4:system=polaris
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR

# NCCL over Slingshot
export NCCL_NET="AWS Libfabric"
export NCCL_NET_GDR_LEVEL=PHB
export NCCL_CROSS_NIC=1
export NCCL_COLLNET_ENABLE=1
export FI_CXI_DISABLE_HOST_REGISTER=1
export FI_MR_CACHE_MONITOR=userfaultfd
export FI_CXI_DEFAULT_CQ_SIZE=131072

mapfile -t nodes < <(sort -u "$PBS_NODEFILE")
head_node=${nodes[0]}
echo "head: $head_node, all: ${nodes[*]}"

mpiexec -n "${#nodes[@]}" --ppn 1 --cpu-bind none \
    torchrun --nnodes="${#nodes[@]}" --nproc_per_node=4 \
    --rdzv_backend=c10d --rdzv_endpoint="$head_node:29500" --rdzv_id="$PBS_JOBID" \
    finetune.py --fsdp full_shard
