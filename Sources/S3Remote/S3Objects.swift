internal import HTTPRemote
internal import HTTPTypes
package import OperationFormat
package import Replicator

/// The objects of a remote in a bucket.
package struct S3Objects: ObjectStore {
  /// Below it are the objects by which the store is probed.
  private static let probes = "probe/"
  /// The most objects of one page of a list.
  private static let pageMax = 1000
  private static let pageBytesMax = 4 << 20
  private static let emptyPagesMax = 100
  /// So many objects are removed at one time.
  private static let removalsAtOnce = 8

  let exchange: S3Exchange
  package var name: String { exchange.address.description }

  private func key(_ name: ObjectName) -> String { exchange.address.prefix + name.description }

  // MARK: Reading

  package func get(_ name: ObjectName, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    do throws(RemoteError) {
      return try await get(key(name), bytesMax: bytesMax)
    } catch {
      throw error.code == .damaged ? .tooLarge(name, UInt64(bytesMax) + 1, bytesMax) : error
    }
  }

  func get(_ key: String, bytesMax: Int) async throws(RemoteError) -> [UInt8]? {
    try await read(S3Request(method: .get, key: key, answerBytesMax: bytesMax))?.body
  }

  package func getPrefix(_ name: ObjectName, _ count: Int) async throws(RemoteError) -> ObjectPrefix? {
    let range: HTTPFields = [.range: "bytes=0-\(max(count, 1) - 1)"]
    let request = S3Request(
      method: .get, key: key(name), fields: range, answerBytesMax: count, wantsPrefix: true)
    guard let answer = try await read(request) else { return nil }
    // A store that knows no ranges sends all of it, of which only the beginning was read.
    guard let total = answer.totalBytes, total >= answer.body.count else { throw error(answer) }
    return ObjectPrefix(bytes: answer.body, totalBytes: total)
  }

  /// Reads an object, or a part; nil if there is none.
  private func read(_ request: S3Request) async throws(RemoteError) -> S3Answer? {
    let answer = try await exchange.send(request)
    switch S3Failure(answer) {
    case nil:
      // All of it, or the part that was asked for.
      let isWanted = answer.status == .ok || answer.status == .partialContent && request.wantsPrefix
      let stated = answer.fields[.contentEncoding] == nil ? answer.totalBytes : nil
      guard isWanted, answer.isOfObject,
        request.wantsPrefix || answer.body.count == stated ?? UInt64(answer.body.count)
      else { throw error(answer) }
      return answer
    case .absent: return nil
    // The object has no first byte.
    case .noSuchRange: return S3Answer(HTTPResponse(status: .ok, headerFields: [.contentLength: "0"]), [])
    default: throw error(answer)
    }
  }

  private func error(_ answer: S3Answer) -> RemoteError { RemoteError(answer, of: exchange.address) }

  // MARK: Writing

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    try await putIfAbsent(key(name), bytes)
  }

  func putIfAbsent(_ key: String, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    try await put(key, bytes, [.ifNoneMatch: "*"])
  }

  /// - Parameter condition: the field that says when it is written; none for always.
  /// - Returns: whether it was written; false if the condition does not hold.
  private func put(
    _ key: String, _ bytes: [UInt8], _ condition: HTTPFields
  ) async throws(RemoteError) -> Bool {
    var fields = condition
    fields[.contentType] = "application/octet-stream"
    let answer = try await exchange.send(S3Request(method: .put, key: key, fields: fields, body: bytes))
    switch S3Failure(answer) {
    case nil where answer.status == .ok && answer.isOfObject: return true
    case .exists where !condition.isEmpty: return false
    default: throw error(answer)
    }
  }

  package func putIfAbsent(
    _ name: ObjectName, timed bytes: @escaping @Sendable (UInt64?) -> [UInt8]?
  ) async throws(RemoteError) -> TimedPut {
    if exchange.milliseconds() == nil { _ = try await getPrefix(.marker, 1) }
    let time = exchange.milliseconds()
    guard let bytes = bytes(time) else { return .declined(time) }
    return try await putIfAbsent(name, bytes) ? .put(time) : .exists
  }

  package func overwrite(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) {
    _ = try await put(key(name), bytes, [:])
  }

  /// Does nothing: what can be seen in an object store is durable.
  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {}

  package func delete(_ name: ObjectName) async throws(RemoteError) { try await delete(key(name)) }

  func delete(_ key: String) async throws(RemoteError) {
    let answer = try await exchange.send(S3Request(method: .delete, key: key))
    if S3Failure(answer) == .absent { return }
    try check(answer)
  }

  private func check(_ answer: S3Answer) throws(RemoteError) {
    if S3Failure(answer) != nil { throw error(answer) }
  }

  func makeBucket() async throws(RemoteError) { try check(await exchange.send(S3Request(method: .put))) }

  package func removeAssets(of incarnation: IncarnationID) async throws(RemoteError) {
    let folder = "\(ObjectName.log(of: incarnation))/"
    for prefix in [ObjectName.assetsPrefix, ObjectName.snapshotsPrefix] {
      try await forEachPage(below: folder + prefix) { page throws(RemoteError) in
        let names = page.compactMap(\.name).filter(\.goesWithZone)
        try await remove(names)
        return true
      }
    }
  }

  private func remove(_ names: [ObjectName]) async throws(RemoteError) {
    let results = await withTaskGroup(of: Result<Void, RemoteError>.self) { group in
      var results: [Result<Void, RemoteError>] = []
      for (number, name) in names.enumerated() {
        if number >= Self.removalsAtOnce, let result = await group.next() { results.append(result) }
        group.addTask {
          do throws(RemoteError) { return .success(try await delete(name)) } catch { return .failure(error) }
        }
      }
      for await result in group { results.append(result) }
      return results
    }
    for result in results { try result.get() }
  }

  // MARK: Lists

  package func list() async throws(RemoteError) -> [ObjectEntry] {
    var found: [ObjectEntry] = []
    try await forEachPage(below: "") { page throws(RemoteError) in
      found += page.filter { !$0.path.hasPrefix(Self.probes) }
      return true
    }
    return found.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  package func nextEntry(after name: ObjectName) async throws(RemoteError) -> ObjectName? {
    guard let offset = name.offset else { return nil }
    let log = name.incarnation
    let folder = name.incarnation.map { "\(ObjectName.log(of: $0))/" } ?? "\(ObjectName.zones)/"
    var next: ObjectName?
    // Directories of entries are hexadecimal numbers. What is beside a log begins with other letters, and there may be very
    // much of it: no entry that could ever be written comes behind that.
    try await forEachPage(below: folder + "0", after: name.description) { page throws(RemoteError) in
      let offsets = page.compactMap { $0.name?.incarnation == log ? $0.name?.offset : nil }
      // If one is passed over, all would take it for missing.
      guard offsets == offsets.sorted() else { throw badList }
      next = offsets.first { $0 > offset }.map { .entry($0, of: log) }
      return next == nil
    }
    return next
  }

  /// Something that is below the prefix of the address; nil if nothing is.
  func first() async throws(RemoteError) -> String? {
    var found: String?
    try await forEachPage(below: "") { page throws(RemoteError) in
      found = page.first { !$0.path.hasPrefix(Self.probes) }?.path
      return found == nil
    }
    return found
  }

  /// Goes through the objects whose paths begin with something, in order, until the body says false.
  private func forEachPage(
    below prefix: String, after: String? = nil,
    _ body: (_ page: [ObjectEntry]) async throws(RemoteError) -> Bool
  ) async throws(RemoteError) {
    var next: String?
    var (seen, emptyPages): (Set<String>, Int) = ([], 0)
    repeat {
      let page = try await page(below: prefix, after: after, from: next)
      guard try await body(page.entries) else { return }
      next = page.next
      emptyPages = page.entries.isEmpty ? emptyPages + 1 : 0
      // The same again, or nothing again and again, would have no end.
      if let next, !seen.insert(next).inserted || emptyPages > Self.emptyPagesMax { throw badList }
    } while next != nil
  }

  private func page(
    below prefix: String, after: String? = nil, from token: String? = nil
  ) async throws(RemoteError) -> (entries: [ObjectEntry], next: String?) {
    let place = exchange.address.prefix
    var query = [
      ("encoding-type", "url"), ("list-type", "2"), ("max-keys", "\(Self.pageMax)"),
      ("prefix", place + prefix),
    ]
    if let token { query.append(("continuation-token", token)) }
    if let after { query.append(("start-after", place + after)) }
    let answer = try await exchange.send(
      S3Request(method: .get, query: query.sorted { $0.0 < $1.0 }, answerBytesMax: Self.pageBytesMax))
    try check(answer)
    guard let page = S3Page(answer.body) else { throw badList }
    var entries: [ObjectEntry] = []
    for object in page.objects {
      // Not what was asked for, or coded in another way.
      guard object.key.hasPrefix(place + prefix) else { throw badList }
      let path = String(object.key.dropFirst(place.count))
      // Some tools put an object for each folder.
      if !path.isEmpty { entries.append(ObjectEntry(path: path, bytes: object.bytes)) }
    }
    return (entries, page.next)
  }

  private var badList: RemoteError {
    RemoteError(
      .notARemote, "\(name) is not at an object store that speaks S3: a list of objects cannot be read",
      hint: "check the endpoint")
  }

  /// Ends at once: an object store tells nobody.
  package func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }
}

// MARK: Probing

extension S3Objects {
  /// At how many keys, and how many at each, puts race when a remote is made.
  private static let (races, racers) = (20, 8)

  /// Checks that the store does what a remote relies on: of two objects that are put under one key the second is refused,
  /// and the first can be read.
  ///
  /// - Parameter isThorough: whether many are to put at one time too.
  /// - Throws: `RemoteError` `unsuitable` if it does not; others if that cannot be found out.
  func probe(isThorough: Bool) async throws(RemoteError) {
    let keys = (0..<(isThorough ? Self.races : 1)).map { _ in
      "\(exchange.address.prefix)\(Self.probes)\(String(exchange.transport.clock.makeRandom(), radix: 16))"
    }
    let faults = await withTaskGroup(of: Result<String?, RemoteError>.self) { group in
      for (number, key) in keys.enumerated() {
        group.addTask {
          let result: Result<String?, RemoteError>
          do throws(RemoteError) {
            result = .success(try await number == 0 ? fault(key) : faultOfRace(key))
          } catch {
            result = .failure(error)
          }
          await forget(key)
          return result
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for fault in faults {
      guard let fault = try fault.get() else { continue }
      throw RemoteError(
        .unsuitable, "\(name) cannot keep a remote: the object store \(fault)",
        hint:
          "use one that honours If-None-Match: * of a put, such as those that the page “A bucket as remote” names"
      )
    }
  }

  /// What the store does wrong; nil if nothing.
  private func fault(_ key: String) async throws(RemoteError) -> String? {
    if try await get(key + "-absent", bytesMax: 64) != nil { return "has an object that nobody has put" }
    let bytes = ["first", "other"].map { Array("\($0) of \(key)".utf8) }
    // It may have been put although the store first said that it is too busy.
    if try await !putIfAbsent(key, bytes[0]), try await get(key, bytesMax: 4096) != bytes[0] {
      return "says that a new key is taken"
    }
    if try await putIfAbsent(key, bytes[1]) {
      return "replaces an object that was to be put only if there was none"
    }
    return try await get(key, bytesMax: 4096) == bytes[0]
      ? nil : "gives something else than what was just put"
  }

  private func faultOfRace(_ key: String) async throws(RemoteError) -> String? {
    let puts = (0..<Self.racers).map { Array("\($0) of \(key)".utf8) }
    let results = await withTaskGroup(of: (Int, Result<Bool, RemoteError>).self) { group in
      for (number, bytes) in puts.enumerated() {
        group.addTask {
          do throws(RemoteError) { return (number, .success(try await putIfAbsent(key, bytes))) } catch {
            return (number, .failure(error))
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    var winners: [Int] = []
    for (number, result) in results where try result.get() { winners.append(number) }
    let kept = try await get(key, bytesMax: 4096)
    // One whose answer was lost may have won.
    if winners.isEmpty, kept.map(puts.contains) ?? false { return nil }
    guard winners.count == 1 else {
      return "says to \(winners.count) of \(Self.racers) that theirs is the object"
    }
    return kept == puts[winners[0]] ? nil : "keeps another object than the one it has taken"
  }

  /// Removes what was put to probe, also if the caller's task was cancelled. What stays, for want of a right or of a
  /// connection, does not count as a thing of the remote.
  private func forget(_ key: String) async { await Task { try? await delete(key) }.value }
}
