#!/bin/bash
# PBS -l select=2
