"""Small programs that start the way a training program would, and write down what each rank really got."""
