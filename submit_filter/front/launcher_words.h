/* A script that holds none of these words starts no distributed training that Maple could read: it is submitted at
 * once. Written by packaging/docs/headers.py (make docs). The words hold for Slurm and PBS alike; what a site demands
 * of the request alone (an account) could only be told, and sbatch and qsub tell that themselves. Words are found
 * anywhere in the bytes, comments included: too many hits cost a question, a missing word costs a repair. python is
 * here because `python train.py` on four nodes starts on the first alone, and gpu because a wrong GPU request needs no
 * launcher. */
static const char *const LAUNCHER_WORDS[] = {
    "srun", "ibrun", "mpirun", "pbsdsh", "mpiexec", "orterun", "prterun", "deepspeed", "accelerate", "horovodrun",
    "torch", "prun", "python", "gpu", "GPU", "apptainer", "singularity", "shifter", "podman", "lightning", "composer",
    "colossalai", "NODE_RANK", "MASTER_ADDR",
};
