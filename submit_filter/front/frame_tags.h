/* The numbers and words of the frames, from host/frames.py. Q_: of a request, R_: of a reply. Written by
 * packaging/docs/headers.py (make docs). */
enum {
    Q_NONCE = 1, Q_HASH = 2, Q_SCHEDULER = 3, Q_ARGV = 4, Q_CWD = 5, Q_UID = 6, Q_ENVIRONMENT = 7, Q_SCRIPT = 8,
    Q_CAME = 9, Q_PATH = 10, Q_FLAGS = 11, Q_WORD = 12, Q_OFFSET = 13, Q_DEADLINE = 14, Q_EARLIER = 16, R_NONCE = 1,
    R_HASH = 2, R_VERDICT = 3, R_SCRIPT = 4, R_ARGV = 5, R_SAY = 6, R_AUDIT = 7, R_QUESTION = 8, R_OFFER_SCRIPT = 9,
    R_OFFER_ARGV = 10, R_OFFER_AUDIT = 11, R_CONDITION = 12, R_LEARNT = 13, R_READ = 14, R_READ_UNLESS = 15,
    R_EARLIER = 16,
};

const char *const WAYS[] = {"none", "file", "stdin", "wrap", "fd"};
