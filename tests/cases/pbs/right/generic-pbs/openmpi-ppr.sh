#!/bin/sh
# lab: MAPLE_MPI=openmpi
#PBS -q rt_HF
#PBS -l select=4:ncpus=32:ngpus=4:mpiprocs=1
#PBS -l walltime=24:00:00
#PBS -P gabc50123

cd ${PBS_O_WORKDIR}
export PYTHONPATH=${PBS_O_WORKDIR}:$PYTHONPATH
export RESULTS=out/${PBS_JOBID}
mkdir -p ${RESULTS}

export NUM_NODES=4
export WORLD_SIZE=$((NUM_NODES * 4))
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=29500

mpirun -np ${WORLD_SIZE} --map-by ppr:4:node -hostfile $PBS_NODEFILE -x MASTER_ADDR -x MASTER_PORT -x WORLD_SIZE \
    sh -c 'RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK python src/train_ddp.py --batch 2' \
    2>&1 | tee ${RESULTS}/output.txt
