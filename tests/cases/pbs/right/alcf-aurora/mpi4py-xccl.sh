#!/bin/bash -l
#PBS -N xpu-ddp
#PBS -A AlphaTrain
#PBS -l select=2
#PBS -l place=scatter
#PBS -l walltime=0:30:00
#PBS -l filesystems=home:flare
#PBS -q debug
#PBS -k doe
#PBS -j oe
# Ranks come from MPI inside the program; a rank takes one tile, twelve a node.

cd $PBS_O_WORKDIR
module load frameworks

# compute nodes reach the internet through the proxy alone
export HTTP_PROXY=http://proxy.alcf.anl.gov:3128 HTTPS_PROXY=http://proxy.alcf.anl.gov:3128
export http_proxy=$HTTP_PROXY https_proxy=$HTTPS_PROXY

NNODES=`wc -l < $PBS_NODEFILE`
NRANKS_PER_NODE=12
NRANKS=$(( NNODES * NRANKS_PER_NODE ))
echo "nodes $NNODES, ranks a node $NRANKS_PER_NODE, ranks $NRANKS"

export CCL_PROCESS_LAUNCHER=pmix
export CCL_ATL_TRANSPORT=mpi
export CCL_KVS_MODE=mpi
export FI_MR_CACHE_MONITOR=userfaultfd
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=2345

CPU_BIND="list:1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100"
mpiexec -n ${NRANKS} -ppn ${NRANKS_PER_NODE} --cpu-bind ${CPU_BIND} python train_mpi.py --epochs 2
