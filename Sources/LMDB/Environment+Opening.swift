extension Environment {
  /// The least address space that is worth trying, in bytes.
  private static let mapBytesMin = 1 << 20

  /// What is tried however many environments the process has open, in bytes.
  private static let shareMin = 1 << 30

  /// Opens the environment with as much address space as is granted, up to what the options say.
  ///
  /// Where less is granted than was asked for, only a quarter of that is kept: the process needs some for its
  /// heap, and for other environments.
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
        // LMDB leaves the data file to child programs. One that lives on would hold it open, and its space.
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

  /// Throws if LMDB has opened another file than the one that was checked and registered.
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

  /// How often another state is taken to be checked, where others have written over the meta page of the one before.
  private static let checkAttemptsMax = 100

  /// Throws if a page that a write or a read may reach cannot be: LMDB would end the process over it.
  ///
  /// A reader keeps the state's pages from being used again meanwhile.
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

  /// Makes the file as long as its header says, under the write lock, since another process may just be writing
  /// there; it takes no space.
  static func extendFile(_ calls: Calls, _ environment: Calls.Handle, _ file: DataFile) throws(LMDBError) {
    let writer = try calls.begin(environment, parent: nil, readOnly: false)
    defer { calls.abort(writer) }
    let information = try calls.information(of: environment)
    let pageBytes = try calls.pageBytes(of: environment)
    let bytes = (information.lastPage + 1) * pageBytes
    if file.bytes < bytes { try file.extend(to: bytes) }
  }

  /// Rounds a number of bytes up to whole memory pages, as LMDB demands.
  static func roundedToPages(_ bytes: Int) -> Int {
    let page = SystemCalls.memoryPageBytes
    return min(bytes, Int.max - page).advanced(by: page - 1) / page * page
  }
}
