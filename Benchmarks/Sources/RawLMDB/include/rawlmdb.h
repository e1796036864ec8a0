#ifndef RAWLMDB_H
#define RAWLMDB_H

#include <stddef.h>
#include <stdint.h>

// The limit that an engine over LMDB can come up to: the calls that it makes of LMDB, made by C code that does nothing
// else. While a trace records, every call of this process that changes or reads a store is noted with its bytes;
// playing it makes the same calls in the same order in another store.

typedef struct raw_trace raw_trace;
typedef struct raw_store raw_store;

// The library's version.
const char *raw_lmdb_version(void);

// Records from now on, until raw_trace_end. One trace at a time, of calls that do not come at the same time.
raw_trace *raw_trace_begin(void);
void raw_trace_end(raw_trace *trace);
void raw_trace_free(raw_trace *trace);

// How many calls it holds that find, put or delete, and how many commits.
size_t raw_trace_calls(const raw_trace *trace);
size_t raw_trace_commits(const raw_trace *trace);

// Opens the store of a directory with the flags and sizes that the engine last opened one with. Null on an error,
// whose number of LMDB's is in *code.
raw_store *raw_store_open(const char *directory, int *code);
void raw_store_close(raw_store *store);

// Makes the calls of a trace from one commit to another: from the first one on, and up to and without the second.
// What is found is read, and adds to *sum. Returns 0, or LMDB's error.
int raw_store_play(raw_store *store, const raw_trace *trace, size_t from, size_t to, uint64_t *sum);

// A hash of everything that a store's tables hold, in order, and how many bytes that is. Returns 0, or LMDB's error.
int raw_store_digest(raw_store *store, uint64_t *digest, uint64_t *bytes);

#endif
