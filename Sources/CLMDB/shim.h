#include <lmdb.h>
#ifdef __linux__
#include <sys/vfs.h> /* fstatfs, which Swift's Glibc module leaves out */
/* <fcntl.h> declares it to those who define _GNU_SOURCE alone. */
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
#endif
