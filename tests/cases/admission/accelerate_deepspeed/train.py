import accelerate
