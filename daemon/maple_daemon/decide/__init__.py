"""From a request to an answer: from memory, else from a process that decides."""
