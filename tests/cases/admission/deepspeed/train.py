import deepspeed
import torch
