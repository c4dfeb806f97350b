#!/bin/bash
#PBS -l select=2:system=polaris
#PBS -q debug
#PBS -l place=scatter
#PBS -l walltime=0:30:00
#PBS -l filesystems=home:eagle
#PBS -A AlphaTrain

cd $PBS_O_WORKDIR
module load apptainer
export BASE_SCRATCH_DIR=/local/scratch
export APPTAINER_TMPDIR=$BASE_SCRATCH_DIR/apptainer-tmp
export ADDITIONAL_PATH=/opt/cray/pe/pals/1.2.12/lib

IMG=/eagle/AlphaTrain/images/pytorch_25.sif
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 --cpu-bind none \
    apptainer exec --fakeroot --nv --bind /eagle,/local/scratch $IMG \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29400 --rdzv-id=7 train.py
