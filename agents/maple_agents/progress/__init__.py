"""How far a job has come: steps, speed, time left and alarms, from the lines that its program prints."""
