import LMDB
import Testing

@Suite("An environment that is closed, and transactions that have ended")
struct EndOfLifeTests {
  let directory = TemporaryDirectory()

  @Test("after a close everything is refused, and further closes do nothing")
  func useAfterClose() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    environment.close()
    environment.close()
    #expect(thrownCode { _ = try environment.beginRead() } == .closed)
    #expect(thrownCode { _ = try environment.beginWrite() } == .closed)
    #expect(thrownCode { try environment.sync() } == .closed)
    #expect(thrownCode { _ = try environment.lastTransactionID } == .closed)
    #expect(thrownCode { _ = try environment.information } == .closed)
    #expect(thrownCode { try environment.growMap(to: 1 << 40) } == .closed)
  }

  @Test("transactions that are open at the close continue, and the file is closed after the last of them")
  func closeWithOpenTransactions() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    try environment.write { try $0.put([1], [1], table) }
    let reader = try environment.beginRead()
    let writer = try environment.beginWrite()
    environment.close()
    #expect(thrownCode { _ = try environment.beginRead() } == .closed)
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .alreadyOpen)
    try writer.put([2], [2], table)
    try writer.commit()
    #expect(try reader.get([1], table) == [1])
    #expect(try reader.get([2], table) == nil)
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .alreadyOpen)
    reader.abort()
    let again = try Environment(directory: directory.path, options: .test())
    let entries = try again.read { try $0.entries($0.openTable("t", create: false)) }
    #expect(entries.map(\.key) == [[1], [2]])
  }

  @Test("a reset reader at close keeps the file open, and cannot be renewed")
  func closeWithResetReader() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    var reader = try environment.beginRead()
    reader.reset()
    environment.close()
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .alreadyOpen)
    do {
      try reader.renew()
      Issue.record("renewed after close")
    } catch {
      #expect(error.code == .closed)
    }
    reader.abort()
    _ = try Environment(directory: directory.path, options: .test())
  }

  @Test("a transaction that is dropped changes nothing and leaves no lock")
  func droppedTransaction() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    for _ in 0..<3 {
      let transaction = try environment.beginWrite()
      try transaction.put([1], [1], table)
    }
    #expect(try environment.read { try $0.entries(table) } == [])
  }

  @Test("a table that was created in an aborted transaction does not exist, and can be created again")
  func abortedTable() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    do {
      let transaction = try environment.beginWrite()
      let table = try transaction.openTable("t", create: true)
      try transaction.put([1], [1], table)
    }
    let reader = try environment.beginRead()
    #expect(thrownCode { _ = try reader.openTable("t", create: false) } == .notFound)
    reader.abort()
    let table = try environment.table("t")
    try environment.write { try $0.put([2], [2], table) }
    #expect(try environment.read { try $0.entries(table) } == [Pair(key: [2], value: [2])])
  }

  @Test(
    "a table that a nested transaction created exists only after its commit", arguments: [false, true])
  func nestedTable(commits: Bool) throws {
    let environment = try Environment(directory: directory.path, options: .test())
    try environment.write { parent in
      let child = parent.beginNested()
      let table = try child.openTable("t", create: true)
      try child.put([1], [1], table)
      if commits { try child.commit() } else { child.abort() }
      let own = try parent.openTable("own", create: true)
      try parent.put([2], [2], own)
    }
    try environment.read { reader in
      let own = try reader.openTable("own", create: false)
      #expect(try reader.entries(own).count == 1)
      if commits {
        let table = try reader.openTable("t", create: false)
        #expect(try reader.entries(table).count == 1)
      } else {
        #expect(thrownCode { _ = try reader.openTable("t", create: false) } == .notFound)
      }
    }
  }

  @Test("more tables than the limit are refused, and the transaction can be aborted")
  func tooManyTables() throws {
    var options = Environment.Options.test()
    options.tablesMax = 2
    let environment = try Environment(directory: directory.path, options: options)
    _ = try environment.table("a")
    _ = try environment.table("b")
    #expect(thrownCode { _ = try environment.table("c") } == .tablesFull)
    let table = try environment.table("a")
    try environment.write { try $0.put([1], [1], table) }
  }

  @Test("a reader sees the state that it began with, until it is renewed")
  func snapshot() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    var reader = try environment.beginRead()
    let first = reader.id
    try environment.write { try $0.put([1], [1], table) }
    #expect(try reader.entries(table) == [])
    #expect(reader.id == first)
    reader.reset()
    try reader.renew()
    #expect(try reader.entries(table).count == 1)
    #expect(try reader.id == environment.lastTransactionID)
  }

  @Test("a reader that began before a table was created does not find it, a later reader does")
  func lateTable() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    _ = try environment.table("a")
    let reader = try environment.beginRead()
    _ = try environment.table("b")
    #expect(thrownCode { _ = try reader.openTable("b", create: false) } == .notFound)
    _ = try environment.read { try $0.openTable("b", create: false) }
  }

  @Test("the caller's mistakes end the process with a message")
  func mistakes() async {
    await #expect(processExitsWith: .failure) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      _ = try environment.beginWrite()
      let transaction = try environment.beginRead()
      _ = try transaction.openTable("t", create: true)
    }
    await #expect(processExitsWith: .failure) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      try environment.write { parent in
        let child = parent.beginNested()
        try parent.put([1], [1], table)
        try child.commit()
      }
    }
    await #expect(processExitsWith: .failure) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      let transaction = try environment.beginRead()
      var cursor = try transaction.openCursor(table)
      transaction.abort()
      _ = try cursor.first()
    }
    await #expect(processExitsWith: .failure) {
      let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
      let environment = try Environment(directory: first.path, options: .test())
      let table = try environment.table("t")
      let other = try Environment(directory: second.path, options: .test())
      try other.write { try $0.put([1], [1], table) }
    }
  }

  @Test("using a write transaction on another thread, or a second one on its thread, ends the process")
  func wrongThread() async {
    await #expect(processExitsWith: .failure) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      let holder = TransactionHolder(try environment.beginWrite())
      onOtherThread { try? holder.put(table) }
    }
    await #expect(processExitsWith: .failure) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let first = try environment.beginWrite()
      let second = try environment.beginWrite()
      second.abort()
      first.abort()
    }
    // The same works on the transaction's own thread: so it is the other thread that ends the process.
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      let holder = TransactionHolder(try environment.beginWrite())
      try holder.put(table)
    }
  }

  @Test("a reader may change its thread")
  func readerOnOtherThread() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let table = try environment.table("t")
    try environment.write { try $0.put([1], [1], table) }
    let holder = TransactionHolder(try environment.beginRead())
    onOtherThread { holder.get(table) }
    #expect(holder.value == [1])
  }
}

/// Moves a transaction to another thread, which the compiler would forbid.
private final class TransactionHolder: @unchecked Sendable {
  private let transaction: Transaction
  private(set) var value: Bytes?

  init(_ transaction: consuming Transaction) { self.transaction = transaction }

  func put(_ table: Table) throws { try transaction.put([1], [1], table) }
  func get(_ table: Table) { value = try? transaction.get([1], table) }
}
