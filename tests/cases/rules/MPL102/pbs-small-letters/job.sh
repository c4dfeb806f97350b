#!/bin/bash
#pbs -q debug
