#!/bin/bash
# Tricky: the launch stands in a file that this script writes; half of it is expanded now, half later.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
cat > node.sh <<END
#!/bin/bash
torchrun --nnodes=$(uniq $PBS_NODEFILE | wc -l) --nproc_per_node=2 \\
    --node_rank=\$PMI_RANK --master_addr=$(head -n 1 $PBS_NODEFILE) --master_port=29500 train.py
END
chmod +x node.sh
mpiexec -n 2 -ppn 1 ./node.sh
