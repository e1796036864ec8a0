#define _GNU_SOURCE
#include "rawlmdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The functions with LMDB's names in this file replace the library's in this process, and call them.
#define LIBRARY(name) ((__typeof__(&name))library_symbol(&library_##name, #name))

__attribute__((noinline, cold)) static void *find_symbol(void **known, const char *name) {
  return *known = dlsym(RTLD_NEXT, name);
}

static inline void *library_symbol(void **known, const char *name) {
  return __builtin_expect(*known != NULL, 1) ? *known : find_symbol(known, name);
}

static void *library_mdb_env_open, *library_mdb_env_set_mapsize, *library_mdb_env_set_maxdbs, *library_mdb_dbi_open,
    *library_mdb_txn_begin,
    *library_mdb_txn_commit, *library_mdb_txn_abort, *library_mdb_txn_reset, *library_mdb_txn_renew, *library_mdb_get,
    *library_mdb_put, *library_mdb_del, *library_mdb_cursor_open, *library_mdb_cursor_close, *library_mdb_cursor_get, *library_mdb_cursor_put,
    *library_mdb_cursor_del;

// MARK: The trace

enum kind { BEGIN, COMMIT, ABORT, RESET, RENEW, GET, PUT, DEL, OPEN, CLOSE, CURSOR_GET, CURSOR_PUT, CURSOR_DEL };

// One call; the bytes of its key and its value follow.
struct call {
  uint8_t kind, subject, other;  // slots of transactions and cursors
  uint8_t has_key;
  uint32_t number;  // a table, or the operation of a cursor
  uint32_t flags;
  uint32_t key_bytes, value_bytes;
};

#define PLACES 32

struct raw_trace {
  uint8_t *bytes;
  size_t count, room;
  size_t *commits;  // where the calls of each commit end
  size_t commit_count, commit_room;
  size_t calls;
  void *transactions[PLACES], *cursors[PLACES];
  bool is_nested[PLACES];
};

static raw_trace *recording;
static unsigned env_flags;
static size_t env_mapsize;
static MDB_dbi env_maxdbs;
#define TABLES 32
static char *table_names[TABLES];

static uint8_t place(void **places, void *what, bool isNew) {
  for (int i = 0; i < PLACES; i++)
    if (places[i] == (isNew ? NULL : what)) {
      places[i] = what;
      return (uint8_t)i;
    }
  abort();  // more at the same time than any engine here uses
}

static void note(struct call call, const MDB_val *key, const MDB_val *value) {
  raw_trace *trace = recording;
  call.has_key = key != NULL;
  call.key_bytes = key ? (uint32_t)key->mv_size : 0;
  call.value_bytes = value ? (uint32_t)value->mv_size : 0;
  size_t size = (sizeof call + call.key_bytes + call.value_bytes + 7) & ~(size_t)7;
  while (trace->count + size > trace->room) {
    trace->room = trace->room ? trace->room * 2 : 1 << 20;
    trace->bytes = realloc(trace->bytes, trace->room);
    if (!trace->bytes) abort();
  }
  uint8_t *at = trace->bytes + trace->count;
  memcpy(at, &call, sizeof call);
  if (key) memcpy(at + sizeof call, key->mv_data, key->mv_size);
  if (value) memcpy(at + sizeof call + call.key_bytes, value->mv_data, value->mv_size);
  trace->count += size;
  if (call.kind >= GET && call.kind != OPEN && call.kind != CLOSE) trace->calls++;
}

// Records the end of a transaction that is not nested in another.
static void note_end(uint8_t transaction) {
  raw_trace *trace = recording;
  if (trace->is_nested[transaction]) return;
  if (trace->commit_count == trace->commit_room) {
    trace->commit_room = trace->commit_room ? trace->commit_room * 2 : 1024;
    trace->commits = realloc(trace->commits, trace->commit_room * sizeof *trace->commits);
    if (!trace->commits) abort();
  }
  trace->commits[trace->commit_count++] = trace->count;
}

const char *raw_lmdb_version(void) { return mdb_version(NULL, NULL, NULL); }

raw_trace *raw_trace_begin(void) {
  raw_trace *trace = calloc(1, sizeof *trace);
  if (!trace || recording) abort();
  return recording = trace;
}

void raw_trace_end(raw_trace *trace) {
  if (recording != trace) abort();
  recording = NULL;
}

void raw_trace_free(raw_trace *trace) {
  if (!trace) return;
  free(trace->bytes);
  free(trace->commits);
  free(trace);
}

size_t raw_trace_calls(const raw_trace *trace) { return trace->calls; }
size_t raw_trace_commits(const raw_trace *trace) { return trace->commit_count; }

// MARK: The functions with LMDB's names

int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode) {
  env_flags = flags;
  return LIBRARY(mdb_env_open)(env, path, flags, mode);
}

int mdb_env_set_mapsize(MDB_env *env, size_t size) {
  env_mapsize = size;
  return LIBRARY(mdb_env_set_mapsize)(env, size);
}

int mdb_env_set_maxdbs(MDB_env *env, MDB_dbi count) {
  env_maxdbs = count;
  return LIBRARY(mdb_env_set_maxdbs)(env, count);
}

int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi) {
  int code = LIBRARY(mdb_dbi_open)(txn, name, flags, dbi);
  if (!code && name && *dbi < TABLES && (!table_names[*dbi] || strcmp(table_names[*dbi], name))) {
    free(table_names[*dbi]);
    table_names[*dbi] = strdup(name);
  }
  return code;
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn) {
  int code = LIBRARY(mdb_txn_begin)(env, parent, flags, txn);
  if (recording && !code) {
    struct call call = {.kind = BEGIN, .flags = flags, .number = parent != NULL};
    call.other = parent ? place(recording->transactions, parent, false) : 0;
    call.subject = place(recording->transactions, *txn, true);
    recording->is_nested[call.subject] = parent != NULL;
    note(call, NULL, NULL);
  }
  return code;
}

static void end(uint8_t kind, MDB_txn *txn) {
  uint8_t at = place(recording->transactions, txn, false);
  note((struct call){.kind = kind, .subject = at}, NULL, NULL);
  note_end(at);
  if (kind != RESET) recording->transactions[at] = NULL;
}

int mdb_txn_commit(MDB_txn *txn) {
  if (recording) end(COMMIT, txn);
  return LIBRARY(mdb_txn_commit)(txn);
}

void mdb_txn_abort(MDB_txn *txn) {
  if (recording) end(ABORT, txn);
  LIBRARY(mdb_txn_abort)(txn);
}

void mdb_txn_reset(MDB_txn *txn) {
  if (recording) end(RESET, txn);
  LIBRARY(mdb_txn_reset)(txn);
}

int mdb_txn_renew(MDB_txn *txn) {
  if (recording) {
    uint8_t at = PLACES;
    for (uint8_t i = 0; i < PLACES && at == PLACES; i++)
      if (recording->transactions[i] == txn) at = i;
    // A transaction that began before the trace begins with it.
    bool isNew = at == PLACES;
    if (isNew) {
      at = place(recording->transactions, txn, true);
      recording->is_nested[at] = false;
    }
    note((struct call){.kind = isNew ? BEGIN : RENEW, .flags = isNew ? MDB_RDONLY : 0, .subject = at}, NULL, NULL);
  }
  return LIBRARY(mdb_txn_renew)(txn);
}

// The most frequent calls are recorded out of line: without a recording they cost a test of `recording` and a jump.
#define NOTED(name, ...) (__builtin_expect(!recording && library_##name, 1) ? LIBRARY(name)(__VA_ARGS__) : noted_##name(__VA_ARGS__))
#define OUT_OF_LINE __attribute__((noinline, cold)) static int

static void note_call(uint8_t kind, const void *txn, const void *cursor, uint32_t number, unsigned flags,
                      const MDB_val *key, const MDB_val *value) {
  if (!recording) return;
  uint8_t at =
      txn ? place(recording->transactions, (void *)txn, false) : place(recording->cursors, (void *)cursor, false);
  note((struct call){.kind = kind, .number = number, .flags = flags, .subject = at}, key, value);
}

OUT_OF_LINE noted_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
  note_call(GET, txn, NULL, dbi, 0, key, NULL);
  return LIBRARY(mdb_get)(txn, dbi, key, value);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) { return NOTED(mdb_get, txn, dbi, key, value); }

OUT_OF_LINE noted_mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags) {
  note_call(PUT, txn, NULL, dbi, flags, key, value);
  return LIBRARY(mdb_put)(txn, dbi, key, value, flags);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags) {
  return NOTED(mdb_put, txn, dbi, key, value, flags);
}

OUT_OF_LINE noted_mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
  note_call(DEL, txn, NULL, dbi, 0, key, NULL);
  return LIBRARY(mdb_del)(txn, dbi, key, value);
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) { return NOTED(mdb_del, txn, dbi, key, value); }

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor) {
  int code = LIBRARY(mdb_cursor_open)(txn, dbi, cursor);
  if (recording && !code) {
    struct call call = {.kind = OPEN, .number = dbi, .other = place(recording->transactions, txn, false)};
    call.subject = place(recording->cursors, *cursor, true);
    note(call, NULL, NULL);
  }
  return code;
}

void mdb_cursor_close(MDB_cursor *cursor) {
  if (recording) {
    uint8_t at = place(recording->cursors, cursor, false);
    note((struct call){.kind = CLOSE, .subject = at}, NULL, NULL);
    recording->cursors[at] = NULL;
  }
  LIBRARY(mdb_cursor_close)(cursor);
}

OUT_OF_LINE noted_mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op) {
  bool asks = op == MDB_SET || op == MDB_SET_KEY || op == MDB_SET_RANGE;
  note_call(CURSOR_GET, NULL, cursor, (uint32_t)op, 0, asks ? key : NULL, NULL);
  return LIBRARY(mdb_cursor_get)(cursor, key, value, op);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op) {
  return NOTED(mdb_cursor_get, cursor, key, value, op);
}

OUT_OF_LINE noted_mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags) {
  note_call(CURSOR_PUT, NULL, cursor, 0, flags, key, value);
  return LIBRARY(mdb_cursor_put)(cursor, key, value, flags);
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags) {
  return NOTED(mdb_cursor_put, cursor, key, value, flags);
}

OUT_OF_LINE noted_mdb_cursor_del(MDB_cursor *cursor, unsigned flags) {
  note_call(CURSOR_DEL, NULL, cursor, 0, flags, NULL, NULL);
  return LIBRARY(mdb_cursor_del)(cursor, flags);
}

int mdb_cursor_del(MDB_cursor *cursor, unsigned flags) { return NOTED(mdb_cursor_del, cursor, flags); }

// MARK: Playing

struct raw_store {
  MDB_env *env;
  MDB_txn *transactions[PLACES];
  MDB_cursor *cursors[PLACES];
};

// Opens the tables in the order of their recorded numbers, so that they get the same numbers.
static int open_tables(MDB_env *env) {
  MDB_txn *txn;
  int code = LIBRARY(mdb_txn_begin)(env, NULL, 0, &txn);
  if (code) return code;
  for (MDB_dbi number = 0; number < TABLES && !code; number++) {
    MDB_dbi opened = number;
    if (table_names[number]) code = LIBRARY(mdb_dbi_open)(txn, table_names[number], 0, &opened);
    if (!code && opened != number) code = EINVAL;
  }
  if (!code) return LIBRARY(mdb_txn_commit)(txn);
  LIBRARY(mdb_txn_abort)(txn);
  return code;
}

raw_store *raw_store_open(const char *directory, int *code) {
  raw_store *store = calloc(1, sizeof *store);
  if (!store) abort();
  *code = mdb_env_create(&store->env);
  if (!*code) *code = LIBRARY(mdb_env_set_maxdbs)(store->env, env_maxdbs);
  if (!*code) *code = LIBRARY(mdb_env_set_mapsize)(store->env, env_mapsize);
  if (!*code) *code = LIBRARY(mdb_env_open)(store->env, directory, env_flags, 0600);
  if (!*code) *code = open_tables(store->env);
  if (!*code) return store;
  if (store->env) mdb_env_close(store->env);
  free(store);
  return NULL;
}

void raw_store_close(raw_store *store) {
  for (int i = 0; i < PLACES; i++)
    if (store->transactions[i]) LIBRARY(mdb_txn_abort)(store->transactions[i]);
  mdb_env_close(store->env);
  free(store);
}

static uint64_t touch(const MDB_val *value) {
  if (value->mv_size == 0) return 0;
  const uint8_t *bytes = value->mv_data;
  return (uint64_t)bytes[0] + bytes[value->mv_size - 1] + value->mv_size;
}

int raw_store_play(raw_store *store, const raw_trace *trace, size_t from, size_t to, uint64_t *sum) {
  size_t at = from == 0 ? 0 : trace->commits[from - 1];
  size_t stop = to == 0 ? 0 : trace->commits[to - 1];
  // A table of functions, so that no call needs a look-up.
  __typeof__(&mdb_get) get = LIBRARY(mdb_get);
  __typeof__(&mdb_put) put = LIBRARY(mdb_put);
  __typeof__(&mdb_del) del = LIBRARY(mdb_del);
  __typeof__(&mdb_cursor_get) cursor_get = LIBRARY(mdb_cursor_get);
  __typeof__(&mdb_txn_begin) begin = LIBRARY(mdb_txn_begin);
  __typeof__(&mdb_txn_commit) commit = LIBRARY(mdb_txn_commit);
  int code = 0;
  while (at < stop) {
    const struct call *call = (const struct call *)(trace->bytes + at);
    uint8_t *bytes = (uint8_t *)(call + 1);
    MDB_val key = {call->key_bytes, bytes};
    MDB_val value = {call->value_bytes, bytes + call->key_bytes};
    MDB_txn *txn = store->transactions[call->subject];
    MDB_cursor *cursor = store->cursors[call->subject];
    switch (call->kind) {
      case BEGIN:
        code = begin(store->env, call->number ? store->transactions[call->other] : NULL, call->flags,
                     &store->transactions[call->subject]);
        break;
      case COMMIT:
        code = commit(txn);
        store->transactions[call->subject] = NULL;
        break;
      case ABORT:
        LIBRARY(mdb_txn_abort)(txn);
        store->transactions[call->subject] = NULL;
        break;
      case RESET: LIBRARY(mdb_txn_reset)(txn); break;
      case RENEW: code = LIBRARY(mdb_txn_renew)(txn); break;
      case GET:
        code = get(txn, call->number, &key, &value);
        if (!code) *sum += touch(&value);
        if (code == MDB_NOTFOUND) code = 0;
        break;
      case PUT: code = put(txn, call->number, &key, &value, call->flags); break;
      case DEL:
        code = del(txn, call->number, &key, NULL);
        if (code == MDB_NOTFOUND) code = 0;
        break;
      case OPEN:
        code = LIBRARY(mdb_cursor_open)(store->transactions[call->other], call->number,
                                        &store->cursors[call->subject]);
        break;
      case CLOSE: LIBRARY(mdb_cursor_close)(cursor); break;
      case CURSOR_GET:
        code = cursor_get(cursor, &key, &value, (MDB_cursor_op)call->number);
        if (!code) *sum += touch(&key) + touch(&value);
        if (code == MDB_NOTFOUND) code = 0;
        break;
      case CURSOR_PUT: code = LIBRARY(mdb_cursor_put)(cursor, &key, &value, call->flags); break;
      case CURSOR_DEL: code = LIBRARY(mdb_cursor_del)(cursor, call->flags); break;
    }
    if (code) return code;
    at += (sizeof *call + call->key_bytes + call->value_bytes + 7) & ~(size_t)7;
  }
  return 0;
}

static void add(uint64_t *digest, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  for (size_t i = 0; i < count; i++) *digest = (*digest ^ at[i]) * 0x100000001b3;  // FNV-1a
}

int raw_store_digest(raw_store *store, uint64_t *digest, uint64_t *bytes) {
  *digest = 0xcbf29ce484222325;
  *bytes = 0;
  MDB_txn *txn;
  int code = LIBRARY(mdb_txn_begin)(store->env, NULL, MDB_RDONLY, &txn);
  if (code) return code;
  for (MDB_dbi dbi = 0; dbi < TABLES && !code; dbi++) {
    if (!table_names[dbi]) continue;
    MDB_cursor *cursor;
    code = LIBRARY(mdb_cursor_open)(txn, dbi, &cursor);
    if (code) break;
    MDB_val key, value;
    while (!(code = LIBRARY(mdb_cursor_get)(cursor, &key, &value, MDB_NEXT))) {
      uint64_t sizes[2] = {key.mv_size, value.mv_size};
      add(digest, sizes, sizeof sizes);
      add(digest, key.mv_data, key.mv_size);
      add(digest, value.mv_data, value.mv_size);
      *bytes += key.mv_size + value.mv_size;
    }
    LIBRARY(mdb_cursor_close)(cursor);
    if (code == MDB_NOTFOUND) code = 0;
  }
  LIBRARY(mdb_txn_abort)(txn);
  return code;
}
