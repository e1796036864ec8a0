import RawLMDB

/// An unexpected error of a C library.
package struct RawError: Error {
  package var code: Int32
  package var what: String

  package init(code: Int32, what: String) {
    self.code = code
    self.what = what
  }
}

/// The calls of LMDB that an engine made.
package final class Trace {
  fileprivate let trace: OpaquePointer

  /// Records the calls during a closure.
  package init(_ body: () async throws -> Void) async throws {
    trace = raw_trace_begin()
    do {
      try await body()
      raw_trace_end(trace)
    } catch {
      raw_trace_end(trace)
      raw_trace_free(trace)
      throw error
    }
  }

  deinit { raw_trace_free(trace) }

  /// How many transactions it has.
  package var transactions: Int { raw_trace_commits(trace) }
  /// How many calls of it find, put or delete.
  package var calls: Int { raw_trace_calls(trace) }
}

/// LMDB without an engine: it makes the calls of a trace.
package final class RawStore {
  private let store: OpaquePointer
  package private(set) var sum: UInt64 = 0

  package init(_ directory: String) throws {
    var code: Int32 = 0
    guard let store = raw_store_open(directory, &code) else { throw RawError(code: code, what: "open") }
    self.store = store
  }

  deinit { raw_store_close(store) }

  package func play(_ trace: Trace, _ transactions: Range<Int>) throws {
    let code = raw_store_play(store, trace.trace, transactions.lowerBound, transactions.upperBound, &sum)
    guard code == 0 else { throw RawError(code: code, what: "play") }
  }

  /// The library's version.
  package static var version: String { String(cString: raw_lmdb_version()) }

  /// A digest of all tables of a store, and the number of their bytes.
  package static func digest(of directory: String) throws -> (digest: UInt64, bytes: UInt64) {
    let raw = try RawStore(directory)
    var digest: UInt64 = 0
    var bytes: UInt64 = 0
    let code = raw_store_digest(raw.store, &digest, &bytes)
    guard code == 0 else { throw RawError(code: code, what: "digest") }
    return (digest, bytes)
  }
}
