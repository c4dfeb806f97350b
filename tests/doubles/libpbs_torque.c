/* What Torque's libpbs looks like from outside: the same calls, but the error number is one variable for all threads. */
int pbs_errno;
int pbs_connect(char *server) { (void)server; return -1; }
int pbs_disconnect(int connection) { (void)connection; return 0; }
char *pbs_geterrmsg(int connection) { (void)connection; return 0; }
