#!/bin/bash
export RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID
exec "$@"
