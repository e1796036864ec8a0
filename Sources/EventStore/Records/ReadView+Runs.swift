import LMDB
import OperationFormat

extension ReadView: RunReading {
  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try transaction.withValue(of: key, in: tables.runs, body)
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    try tables.withLastRun(atMost: key, prefixBytes: prefixBytes, transaction, body)
  }

  func forEachRun(under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void) throws {
    try tables.forEachRun(under: prefix, transaction, body)
  }

  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID { try replica(number) }
}
