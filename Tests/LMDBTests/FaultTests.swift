#if DEBUG
  import LMDB
  import Testing

  @Suite("Any C call that fails")
  struct FaultTests {
    /// The progress of a run of the workload until it failed.
    private final class Run {
      /// The rows that are certainly committed.
      var committed: [Bytes] = []

      /// The rows whose commit was called and did not return successfully.
      var attempted: [Bytes] = []

      /// Whether a reader saw something else than at its begin.
      var readerWasDisturbed = false
    }

    /// Commits batch after batch: with put, delete, cursor and nested transaction.
    private static func work(_ directory: String, _ faults: FaultPlan, _ run: Run) throws {
      var options = Environment.Options.test()
      options.faults = faults
      let environment = try Environment(directory: directory, options: options)
      for batch in UInt8(0)..<4 {
        let reader = try environment.beginRead()
        let transaction = try environment.beginWrite()
        let table = try transaction.openTable("t", create: true)
        let rows: [Bytes] = (UInt8(0)..<5).map { [batch, $0] }
        let last = rows[4]
        let value = Bytes(repeating: batch, count: 3000)
        for row in rows[..<3] { try transaction.put(value, row, table) }
        let child = transaction.beginNested()
        try child.put(value, rows[3], table)
        try child.commit()
        try transaction.put(value, [9, 9], table)
        _ = try transaction.delete([9, 9], table)
        do {
          var cursor = try transaction.openCursor(table)
          try transaction.put(value, last, table)
          _ = try cursor.first()
          _ = try cursor.seek(before: last.span.bytes)
        }
        _ = try transaction.statistics(of: table)
        run.attempted = rows
        try transaction.commit()
        run.committed += rows
        run.attempted = []
        // The earlier reader sees none of it, even if its table was created later.
        if batch > 0 {
          let entries = try reader.entries(table)
          run.readerWasDisturbed = run.readerWasDisturbed || entries.count != Int(batch) * 5
        }
        try environment.sync()
        _ = try environment.information
      }
    }

    @Test(
      "gives its error, and leaves no partial change, no lock and no open file",
      arguments: WideTests.choose(
        [LMDBError.Code.inputOutput, .noSpace, .mapFull, .panic], otherwise: [.inputOutput, .mapFull]))
    func everyCall(code: LMDBError.Code) throws {
      var number = 1
      var names: Set<String> = []
      while true {
        let directory = TemporaryDirectory()
        let faults = FaultPlan(failing: number, with: code)
        let run = Run()
        let thrown = thrownCode { try Self.work(directory.path, faults, run) }
        #expect(!run.readerWasDisturbed)
        if !faults.hasFailed {
          #expect(thrown == nil)
          #expect(run.committed.count == 20)
          break
        }
        #expect(thrown == code, "call \(number): \(faults.names.last ?? "")")
        if let name = faults.names.last { names.insert(name) }
        try Self.checkAfterFault(directory.path, run, number)
        number += 1
      }
      #expect(number > 130)
      for name in [
        "mdb_env_create", "mdb_env_set_mapsize", "mdb_env_open", "mdb_txn_begin", "mdb_dbi_open", "mdb_put",
        "mdb_del", "mdb_cursor_open", "mdb_cursor_get", "mdb_stat", "mdb_txn_commit", "mdb_env_sync",
        "mdb_env_info",
      ] {
        #expect(names.contains(name), "\(name) has never failed")
      }
    }

    /// Opens the store again. It must have whole batches: those committed, and at most the one being
    /// committed.
    private static func checkAfterFault(_ directory: String, _ run: Run, _ number: Int) throws {
      let environment = try Environment(directory: directory, options: .test())
      let reader = try environment.beginRead()
      var keys: [Bytes] = []
      if let table = try? reader.openTable("t", create: false) {
        keys = try reader.entries(table).map(\.key)
      }
      reader.abort()
      let isWhole = keys == run.committed || keys == run.committed + run.attempted
      #expect(isWhole, "call \(number): \(keys)")
      let table = try environment.table("t")
      try environment.write { try $0.put([1], [0xFF], table) }
      environment.close()
      #expect(try PageCheck.check(directory: directory) == [])
    }

    @Test("leaves the same environment usable, if it was not a panic")
    func sameEnvironment() throws {
      let directory = TemporaryDirectory()
      let faults = FaultPlan()
      var options = Environment.Options.test()
      options.faults = faults
      let environment = try Environment(directory: directory.path, options: options)
      let table = try environment.table("t")
      let reader = try environment.beginRead()
      for name in ["mdb_txn_begin", "mdb_put", "mdb_txn_commit"] {
        for round in UInt8(0)..<3 {
          faults.fail(1, of: name, with: .noSpace)
          #expect(thrownCode { try environment.write { try $0.put([1], [1], table) } } == .noSpace)
          #expect(try environment.read { try $0.get([1], table) } == nil)
          try environment.write { try $0.put([round], [2], table) }
          #expect(try environment.read { try $0.get([2], table) } == [round])
          try environment.write { _ = try $0.delete([2], table) }
        }
      }
      #expect(try reader.entries(table) == [])
    }

    @Test(
      "if it is a panic, everything is refused until the store is opened again",
      arguments: ["mdb_txn_commit", "mdb_txn_begin"])
    func panic(call: String) throws {
      let directory = TemporaryDirectory()
      let faults = FaultPlan()
      var options = Environment.Options.test()
      options.faults = faults
      let environment = try Environment(directory: directory.path, options: options)
      let table = try environment.table("t")
      faults.fail(1, of: call, with: .panic)
      #expect(thrownCode { try environment.write { try $0.put([1], [1], table) } } == .panic)
      for _ in 0..<2 {
        #expect(thrownCode { _ = try environment.beginRead() } == .panic)
        #expect(thrownCode { _ = try environment.beginWrite() } == .panic)
      }
      do {
        _ = try environment.beginRead()
      } catch {
        #expect(error.hint == "Close the environment and open it again")
      }
      environment.close()
      let again = try Environment(directory: directory.path, options: .test())
      try again.write { try $0.put([1], [1], $0.openTable("t", create: false)) }
    }

    @Test("is tried again if that helps: readers full, map resized, address space refused")
    func retries() throws {
      let directory = TemporaryDirectory()
      let faults = FaultPlan(failing: 1, of: "mdb_env_open", with: .outOfMemory)
      var options = Environment.Options.test(mapBytes: 1 << 30)
      options.faults = faults
      let environment = try Environment(directory: directory.path, options: options)
      #expect(faults.hasFailed)
      #expect(try environment.information.mapBytes == 1 << 27)
      let table = try environment.table("t")
      for code in [LMDBError.Code.readersFull, .mapResized] {
        faults.fail(1, of: "mdb_txn_begin", with: code)
        _ = try environment.read { try $0.get([1], table) }
        #expect(faults.hasFailed)
        faults.fail(1, of: "mdb_txn_begin", with: code)
        try environment.write { try $0.put([1], [1], table) }
        #expect(faults.hasFailed)
      }
      var reader = try environment.beginRead()
      reader.reset()
      faults.fail(1, of: "mdb_txn_renew", with: .mapResized)
      try reader.renew()
      #expect(try reader.get([1], table) == [1])
    }
  }
#endif
