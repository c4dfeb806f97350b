#!/bin/bash
#PBS -A AlphaTrain
#PBS -N fsdp_2n
#PBS -q debug
#PBS -l select=2:system=aurora,place=scatter
#PBS -l walltime=00:20:00,filesystems=flare
#PBS -j oe

cd ${PBS_O_WORKDIR}
module use /soft/modulefiles
module load frameworks
source ./venvs/aurora/bin/activate 2> /dev/null || true

export MASTER_ADDR=$(head -1 ${PBS_NODEFILE})
export MASTER_PORT=$(( 20000 + RANDOM % 1000 ))
export NODES=$(sort -u ${PBS_NODEFILE} | wc -l)
export PPN=12
export WORLD_SIZE=$(( NODES * PPN ))

mpiexec --verbose --envall --np ${WORLD_SIZE} --ppn ${PPN} --hostfile ${PBS_NODEFILE} \
    --cpu-bind verbose,list:4-7:8-11:12-15:16-19:20-23:24-27:56-59:60-63:64-67:68-71:72-75:76-79 \
    bash -c 'export RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID; exec python -u train_fsdp.py --backend xccl'
