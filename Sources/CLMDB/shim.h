#include <lmdb.h>
#ifdef __linux__
#include <sys/vfs.h> /* fstatfs, which Swift's Glibc module leaves out */
#endif
