#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug-scaling
#PBS -l select=4
#PBS -l place=scatter
#PBS -l walltime=00:40:00
#PBS -l filesystems=flare
#PBS -N six-per-node
# A rank for each card: six a node, each with the two tiles of its card.

cd $PBS_O_WORKDIR
NNODES=$(wc -l < $PBS_NODEFILE)
RANKS_PER_NODE=6
let NTOTRANKS=${NNODES}*${RANKS_PER_NODE}

export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29400 WORLD_SIZE=$NTOTRANKS

cat > card.$PBS_JOBID.sh <<'EOF'
#!/bin/bash
card=$PALS_LOCAL_RANKID
export ZE_FLAT_DEVICE_HIERARCHY=FLAT
export ZE_AFFINITY_MASK=$(( 2 * card )),$(( 2 * card + 1 ))
export RANK=$PALS_RANKID
export LOCAL_RANK=0        # the first device that this rank sees
exec python train.py --tiles 2
EOF
chmod +x card.$PBS_JOBID.sh

mpiexec -n $NTOTRANKS -ppn $RANKS_PER_NODE --cpu-bind list:1-16:17-32:33-48:53-68:69-84:85-100 ./card.$PBS_JOBID.sh
