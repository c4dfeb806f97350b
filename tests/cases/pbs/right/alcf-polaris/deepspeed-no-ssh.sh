#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR
export HOSTFILE=$PBS_O_WORKDIR/hosts.$PBS_JOBID
awk '{print $1 " slots=4"}' $PBS_NODEFILE > $HOSTFILE
export HEAD=$(head -n 1 $PBS_NODEFILE)
export N=$(wc -l < $PBS_NODEFILE)

mpiexec -n $N --ppn 1 --cpu-bind none bash -c "
    deepspeed --hostfile=$HOSTFILE --no_ssh --node_rank=\$PALS_NODEID \
        --master_addr=$HEAD --master_port=29500 train_ds.py --deepspeed_config ds_config.json"
