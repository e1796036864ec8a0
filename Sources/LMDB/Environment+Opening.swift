extension Environment {
  /// The least address space that is worth reserving, in bytes.
  private static let mapBytesMin = 1 << 20

  /// The address space that each environment asks for at least, however many the process has open, in bytes.
  private static let shareMin = 1 << 30

  /// Opens the environment with as much address space as the operating system grants, up to the limit in the
  /// options.
  ///
  /// If the operating system grants less than the limit, the environment keeps a quarter of it. The process
  /// needs the rest for its heap and for other environments.
  static func openMapped(
    _ calls: Calls, _ file: DataFile, _ options: Options
  ) throws(LMDBError) -> Calls.Handle {
    let least = max(mapBytesMin, file.bytes)
    var mapBytes = roundedToPages(
      max(least, AddressSpace.share(of: options.mapBytes, least: min(options.mapBytes, shareMin))))
    var wasRefused = false
    while true {
      let environment = try calls.createEnvironment()
      do throws(LMDBError) {
        try calls.setAssertionMessage(environment)
        try calls.setTablesMax(environment, options.tablesMax)
        try calls.setReadersMax(environment, options.readersMax)
        try calls.setMapBytes(environment, mapBytes)
        try calls.openEnvironment(environment, readOnly: options.readOnly, sync: options.sync)
        // LMDB lets child programs inherit the data file. A child that runs on would keep the file open, and
        // its disk space used.
        try SystemCalls.setCloseOnExec(calls.fileDescriptor(of: environment), file.path)
        let quarter = roundedToPages(mapBytes / 4)
        guard wasRefused, quarter >= least else { return environment }
        calls.closeEnvironment(environment)
        wasRefused = false
        mapBytes = quarter
      } catch {
        calls.closeEnvironment(environment)
        wasRefused = true
        let half = roundedToPages(mapBytes / 2)
        guard error.code == .outOfMemory, half >= least else { throw error }
        mapBytes = half
      }
    }
  }

  /// Throws if LMDB has opened another file than the checked and registered one.
  static func checkSameFile(
    _ calls: Calls, _ environment: Calls.Handle, _ file: DataFile
  ) throws(LMDBError) {
    let descriptor = try calls.fileDescriptor(of: environment)
    let identity = try SystemCalls.status(of: descriptor, file.path).identity
    if identity == file.identity { return }
    throw LMDBError(
      code: .busy, call: "mdb_env_open", path: file.path,
      message: "the data file was replaced while it was being opened", hint: "Open it again")
  }

  /// How often the check takes another state, because other processes have overwritten the meta page of the
  /// one before.
  private static let checkAttemptsMax = 100

  /// Throws if a read or a write could reach an impossible page: LMDB would end the process.
  ///
  /// A read transaction is open during the check, so that no writer reuses the pages of its state.
  static func checkStructure(
    _ calls: Calls, _ environment: Calls.Handle, _ file: DataFile, pagesMax: UInt64
  ) throws(LMDBError) {
    for attempt in 1...checkAttemptsMax {
      let reader = try calls.begin(environment, parent: nil, readOnly: true)
      defer { calls.abort(reader) }
      do throws(LMDBError) {
        return try file.checkStructure(transactionID: calls.id(of: reader), pagesMax: pagesMax)
      } catch {
        guard error.code == .badTransaction, attempt < checkAttemptsMax else { throw error }
      }
    }
  }

  /// Extends the file to the length in its header, without taking disk space. It holds the write lock,
  /// because another process may be extending the file too.
  static func extendFile(_ calls: Calls, _ environment: Calls.Handle, _ file: DataFile) throws(LMDBError) {
    let writer = try calls.begin(environment, parent: nil, readOnly: false)
    defer { calls.abort(writer) }
    let information = try calls.information(of: environment)
    let pageBytes = try calls.pageBytes(of: environment)
    let bytes = (information.lastPage + 1) * pageBytes
    if file.bytes < bytes { try file.extend(to: bytes) }
  }

  /// Rounds up to whole memory pages, as LMDB requires.
  static func roundedToPages(_ bytes: Int) -> Int {
    let page = SystemCalls.memoryPageBytes
    return min(bytes, Int.max - page).advanced(by: page - 1) / page * page
  }
}
