#!/bin/bash
# One rank: what mpiexec says in its words, said in torch's.
export RANK=${PALS_RANKID}
export LOCAL_RANK=${PALS_LOCAL_RANKID}
exec "$@"
