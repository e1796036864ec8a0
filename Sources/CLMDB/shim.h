#include <lmdb.h>
#ifdef __linux__
#include <sys/vfs.h> /* fstatfs: Swift's Glibc module lacks it */
/* <fcntl.h> declares it only if _GNU_SOURCE is defined. */
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
#endif

/* Asks the memory for what is at an address, without waiting for it. */
static inline void tributary_prefetch(const void *address) { __builtin_prefetch(address, 0, 2); }
