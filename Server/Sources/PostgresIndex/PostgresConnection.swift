internal import CPQ
internal import Foundation

/// A parameter of a statement, or a column of its result, in binary: so no text of a client is ever a part of SQL.
enum PostgresValue: Sendable {
  case bytes([UInt8])
  case number(Int64)
  /// An array of `bytea`.
  case list([[UInt8]])
  case null

  fileprivate var encoded: [UInt8]? {
    switch self {
    case .bytes(let bytes): bytes
    case .number(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) }
    case .list(let items): Self.encode(items)
    case .null: nil
    }
  }

  /// The binary form of an array of one dimension.
  private static func encode(_ items: [[UInt8]]) -> [UInt8] {
    func number(_ number: Int) -> [UInt8] { withUnsafeBytes(of: Int32(number).bigEndian) { Array($0) } }
    let byteaType = 17
    var bytes = number(items.isEmpty ? 0 : 1) + number(0) + number(byteaType)
    if !items.isEmpty { bytes += number(items.count) + number(1) }
    for item in items { bytes += number(item.count) + item }
    return bytes
  }
}

/// A connection to a database of PostgreSQL. It is used by one thread at a time.
final class PostgresConnection {
  private let handle: OpaquePointer
  /// The names of statements that the server has prepared.
  private var prepared: [String: String] = [:]

  /// - Parameter address: a URI or a connection string of libpq.
  init(_ address: String) throws(PostgresError) {
    guard let parsed = PQconninfoParse(address, nil) else { throw .addressInvalid }
    PQconninfoFree(parsed)
    // What the address says counts: it comes last. A database that is away is noticed within some seconds.
    let settings = [
      ("target_session_attrs", "read-write"), ("connect_timeout", "5"), ("tcp_user_timeout", "10000"),
      ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("fallback_application_name", "tributary-server"), ("dbname", address),
    ]
    var names: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.0)) } + [nil]
    var values: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.1)) } + [nil]
    defer { for text in names + values { free(UnsafeMutableRawPointer(mutating: text)) } }
    guard let handle = PQconnectdbParams(&names, &values, 1) else {
      throw PostgresError(state: "", message: "there is no memory for a connection")
    }
    self.handle = handle
    guard PQstatus(handle) == CONNECTION_OK else { throw lastError }
    try run(
      """
      set statement_timeout = '30s'; set lock_timeout = '10s'; set idle_in_transaction_session_timeout = '60s';
      set client_min_messages = 'warning'; set client_encoding = 'UTF8';
      select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'
      """)
  }

  deinit { PQfinish(handle) }

  /// The host and the database, without a password.
  var name: String { "postgres://\(String(cString: PQhost(handle)))/\(String(cString: PQdb(handle)))" }
  /// For waiting until something comes.
  var socket: Int32 { PQsocket(handle) }

  private var lastError: PostgresError {
    PostgresError(state: "", message: Self.line(String(cString: PQerrorMessage(handle))))
  }

  private static func line(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: "; ")
  }

  /// Runs statements without parameters and results.
  func run(_ statements: String) throws(PostgresError) { _ = try check(PQexec(handle, statements)) }

  /// Commits.
  ///
  /// - Throws: ``PostgresError`` also if the transaction had failed before: then the server takes it back, and says so.
  func commit() throws(PostgresError) {
    guard try check(PQexec(handle, "commit")).command == "COMMIT" else {
      throw PostgresError(state: "25P02", message: "the transaction had failed before")
    }
  }

  /// Runs a statement.
  ///
  /// - Returns: the rows.
  @discardableResult
  func query(_ statement: String, _ parameters: [PostgresValue] = []) throws(PostgresError) -> PostgresResult
  {
    let name = try prepare(statement)
    let encoded = parameters.map(\.encoded)
    // One buffer for all: pointers into it live as long as the call.
    var buffer: [UInt8] = []
    for one in encoded { buffer += (one ?? []) + [0] }
    let result = buffer.withUnsafeBytes { bytes in
      var (start, values): (Int, [UnsafePointer<CChar>?]) = (0, [])
      for one in encoded {
        let place = bytes.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
        values.append(one == nil ? nil : place)
        start += (one?.count ?? 0) + 1
      }
      let lengths = encoded.map { Int32($0?.count ?? 0) }
      let formats = encoded.map { _ in Int32(1) }
      return PQexecPrepared(handle, name, Int32(encoded.count), values, lengths, formats, 1)
    }
    return try check(result)
  }

  private func prepare(_ statement: String) throws(PostgresError) -> String {
    if let name = prepared[statement] { return name }
    let name = "s\(prepared.count)"
    _ = try check(PQprepare(handle, name, statement, 0, nil))
    prepared[statement] = name
    return name
  }

  private func check(_ result: OpaquePointer?) throws(PostgresError) -> PostgresResult {
    guard let result else { throw lastError }
    let held = PostgresResult(result)
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return held
    default:
      guard PQstatus(handle) == CONNECTION_OK,
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C")))
      else { throw lastError }
      // Without the rest, which may have values of rows.
      let text = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) } ?? ""
      throw PostgresError(state: String(cString: state), message: Self.line(text))
    }
  }

  /// What was notified since.
  func notifications() throws(PostgresError) -> [String] {
    guard PQconsumeInput(handle) == 1 else { throw lastError }
    var found: [String] = []
    while let notification = PQnotifies(handle) {
      found.append(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    return found
  }
}

/// The rows of a result.
final class PostgresResult {
  private let result: OpaquePointer

  fileprivate init(_ result: OpaquePointer) { self.result = result }
  deinit { PQclear(result) }

  var count: Int { Int(PQntuples(result)) }
  /// What was done: `COMMIT`.
  var command: String { String(cString: PQcmdStatus(result)) }
  /// How many rows a statement has changed.
  var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

  /// The bytes of a column; nil for null.
  func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
    guard PQgetisnull(result, Int32(row), Int32(column)) == 0 else { return nil }
    let count = Int(PQgetlength(result, Int32(row), Int32(column)))
    guard let start = PQgetvalue(result, Int32(row), Int32(column)) else { return nil }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// The number in a column of the type `bigint`, `integer` or `smallint`; nil for null.
  func number(_ row: Int, _ column: Int) -> Int64? {
    guard let bytes = bytes(row, column) else { return nil }
    let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    switch bytes.count {
    case 8: return Int64(bitPattern: value)
    case 4: return Int64(Int32(truncatingIfNeeded: value))
    case 2: return Int64(Int16(truncatingIfNeeded: value))
    default: return nil
    }
  }
}
