"""What is read and written on the submit host: settings, the script, private copies, audit lines, frames."""
