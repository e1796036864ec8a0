#include <lmdb.h>
#ifdef __linux__
#include <sys/vfs.h> /* fstatfs: Swift's Glibc module lacks it */
/* <fcntl.h> declares it only if _GNU_SOURCE is defined. */
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
#endif
