"""What all agents share: slots, complaints in one line, words on a terminal, files of one's own."""
