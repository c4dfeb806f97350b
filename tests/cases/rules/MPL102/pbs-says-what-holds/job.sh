#!/bin/bash
#PBS -l select=2
# PBS -l select=2
