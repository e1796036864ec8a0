#ifndef RAWLMDB_H
#define RAWLMDB_H

#include <stddef.h>
#include <stdint.h>

// The speed limit of an engine over LMDB: C code that makes the same LMDB calls as the engine, and nothing else. While
// a trace records, it stores every call of this process that changes or reads a store, with the bytes. Playing the
// trace makes the same calls in the same order in another store.

typedef struct raw_trace raw_trace;
typedef struct raw_store raw_store;

// The library's version.
const char *raw_lmdb_version(void);

// Records until raw_trace_end. Only one trace may record at a time, and the calls must not be concurrent.
raw_trace *raw_trace_begin(void);
void raw_trace_end(raw_trace *trace);
void raw_trace_free(raw_trace *trace);

// How many of its calls find, put or delete, and how many commit.
size_t raw_trace_calls(const raw_trace *trace);
size_t raw_trace_commits(const raw_trace *trace);

// Opens the store of a directory with the flags and sizes of the last store that the engine opened. Returns null on
// an error, and sets *code to LMDB's error.
raw_store *raw_store_open(const char *directory, int *code);
void raw_store_close(raw_store *store);

// Makes the calls of a trace's transactions from `from` up to, but not including, `to`. Reads what it finds, and adds it
// to *sum. Returns 0, or LMDB's error.
int raw_store_play(raw_store *store, const raw_trace *trace, size_t from, size_t to, uint64_t *sum);

// A hash of all contents of a store's tables, in order, and the number of their bytes. Returns 0, or LMDB's error.
int raw_store_digest(raw_store *store, uint64_t *digest, uint64_t *bytes);

#endif
