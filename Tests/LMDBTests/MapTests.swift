import LMDB
import Testing

@Suite("A map that is full, is moved or is refused")
struct MapTests {
  let directory = TemporaryDirectory()

  @Test("a full map is an error, and after it has grown the same work succeeds")
  func grow() throws {
    let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 20))
    let table = try environment.table("t")
    func fill() throws {
      try environment.write { transaction in
        for number in UInt8(0)..<100 {
          try transaction.put(Bytes(repeating: number, count: 20_000), [number], table)
        }
      }
    }
    #expect(thrownCode { try fill() } == .mapFull)
    #expect(try environment.read { try $0.entries(table) } == [])
    try environment.growMap(to: 1 << 22)
    #expect(try environment.information.mapBytes == 1 << 22)
    try fill()
    #expect(try environment.read { try $0.entries(table).count } == 100)
    // A smaller size is ignored.
    try environment.growMap(to: 1 << 20)
    #expect(try environment.information.mapBytes == 1 << 22)
  }

  @Test("growing waits for open transactions, and gives up after its time limit")
  func growWaits() throws {
    let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 20))
    let table = try environment.table("t")
    try environment.write { try $0.put([1], [1], table) }
    let reader = try environment.beginRead()
    #expect(thrownCode { try environment.growMap(to: 1 << 22, waitingSeconds: 0.05) } == .busy)
    #expect(try reader.get([1], table) == [1])
    // A reader that was reset does not block it, and sees everything after a renewal.
    var resting = try environment.beginRead()
    resting.reset()
    reader.abort()
    try environment.growMap(to: 1 << 22, waitingSeconds: 0)
    try resting.renew()
    #expect(try resting.get([1], table) == [1])
  }

  @Test("growing while others read and write loses no data and causes no error")
  func growUnderLoad() async throws {
    let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 20))
    let table = try environment.table("t")
    let isDone = Flag()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 0..<60 {
          let key: Bytes = [UInt8(number)]
          do {
            try environment.write { try $0.put(Bytes(repeating: 1, count: 30_000), key, table) }
          } catch {
            #expect((error as? LMDBError)?.code == .mapFull)
            #expect(throws: Never.self) {
              try environment.growMap(to: environment.information.mapBytes * 2, waitingSeconds: 30)
              try environment.write { try $0.put(Bytes(repeating: 1, count: 30_000), key, table) }
            }
          }
        }
        isDone.raise()
      }
      group.addTask {
        while !isDone.isRaised {
          #expect(throws: Never.self) {
            let entries = try environment.read { try $0.entries(table) }
            #expect(entries.allSatisfy { $0.value == Bytes(repeating: 1, count: 30_000) })
          }
        }
      }
    }
    #expect(try environment.read { try $0.entries(table).count } == 60)
  }

  @Test("if the address space is not available, the map stays as it was")
  func growTooFar() throws {
    let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 20))
    let table = try environment.table("t")
    #expect(thrownCode { try environment.growMap(to: 1 << 60) } == .outOfMemory)
    try environment.write { try $0.put([1], [1], table) }
    #expect(try environment.read { try $0.get([1], table) } == [1])
  }

  @Test(
    "many environments share the address space: the first get what they ask for, and some is left for others"
  )
  func shared() async {
    await #expect(processExitsWith: .success) {
      let directories = (0...200).map { _ in TemporaryDirectory() }
      func open(_ number: Int) throws -> Environment {
        try Environment(directory: directories[number].path, options: .test(mapBytes: 1 << 40))
      }
      var environments = try (0..<200).map { try open($0) }
      let sizes = try environments.map { try $0.information.mapBytes }
      try demand(sizes[..<32].allSatisfy { $0 == 1 << 40 })
      try demand(sizes == sizes.sorted(by: >) && sizes.allSatisfy { $0 >= 1 << 30 })
      try demand(sizes.reduce(0, +) <= 64 << 40)
      let table = try environments[199].table("t")
      try environments[199].write { try $0.put([1], [1], table) }
      // A closed environment returns its space.
      environments.removeFirst(100)
      try demand(open(200).information.mapBytes == 1 << 40)
    }
  }

  @Test("a request for too much address space at open is halved until it is granted")
  func halved() async {
    // In a separate process: the stores of other tests take address space too.
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 50))
      try demand(environment.information.mapBytes < 1 << 50)
      try demand(environment.information.mapBytes >= 1 << 40)
      _ = try environment.table("t")
    }
  }

  #if DEBUG
    @Test("after LMDB has lost the map, everything is refused until the store is opened again")
    func lostMap() throws {
      var options = Environment.Options.test(mapBytes: 1 << 20)
      let faults = FaultPlan()
      options.faults = faults
      let environment = try Environment(directory: directory.path, options: options)
      faults.fail(1, of: "mdb_env_set_mapsize", with: .outOfMemory)
      #expect(thrownCode { try environment.growMap(to: 1 << 22) } == .outOfMemory)
      #expect(thrownCode { _ = try environment.beginRead() } == .outOfMemory)
      environment.close()
      _ = try Environment(directory: directory.path, options: .test()).table("t")
    }
  #endif
}
