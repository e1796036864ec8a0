internal import HTTPTypes
package import OperationFormat
package import Replicator

extension WireRequest {
  /// The snapshot that a request is about: its log, its offset and its maker.
  fileprivate func snapshot(_ free: [String]) throws(WireProblem) -> RemoteSnapshot {
    let log = try LogName(self, free)
    let offset = try offset(free[1])
    let maker = try parsed(free[2], "the maker", "32 hexadecimal digits", ReplicaID.init)
    return RemoteSnapshot(of: log.zone, log.incarnation, at: offset, by: maker)
  }

  fileprivate func part(_ text: String) throws(WireProblem) -> Int {
    try parsed(text, "the part", "a number below \(Limits.snapshotPartsMax)") {
      Int($0).flatMap { 0..<Limits.snapshotPartsMax ~= $0 ? $0 : nil }
    }
  }

  /// The manifest in the body, which must be that of the snapshot that the path names.
  fileprivate func manifest(of snapshot: RemoteSnapshot) throws(WireProblem) -> SnapshotManifest {
    let manifest: SnapshotManifest
    do throws(FormatError) {
      manifest = try SnapshotManifest.read(body.span.bytes)
    } catch {
      throw .malformed("the body is no manifest of a snapshot: \(error)")
    }
    guard manifest.incarnation == snapshot.incarnation, manifest.offset == snapshot.offset,
      manifest.zone.name == snapshot.zone.name
    else { throw .malformed("the body is the manifest of another snapshot than the path names") }
    return manifest
  }
}

extension Route {
  fileprivate func request(_ snapshot: RemoteSnapshot, _ free: String...) -> WireRequest {
    let name = ["\(snapshot.incarnation)", "\(snapshot.offset)", "\(snapshot.maker)"]
    return request(name + free).naming(snapshot.zone)
  }
}

/// A call about a snapshot that says nothing else.
protocol SnapshotVerb: RemoteVerb {
  var snapshot: RemoteSnapshot { get }
  init(of snapshot: RemoteSnapshot)
}

extension SnapshotVerb {
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    self.init(of: try request.snapshot(free))
  }

  package var request: WireRequest { Self.route.request(snapshot) }
}

/// A call that gives a snapshot its manifest.
protocol ManifestVerb: RemoteVerb {
  var manifest: SnapshotManifest { get }
  var snapshot: RemoteSnapshot { get }
  init(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot)
}

extension ManifestVerb {
  package static var bodyBytesMax: Int { SnapshotManifest.bytesMax }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    let snapshot = try request.snapshot(free)
    self.init(try request.manifest(of: snapshot), of: snapshot)
  }

  package var request: WireRequest {
    var request = Self.route.request(snapshot)
    request.body = manifest.encode()
    return request
  }
}

/// ``RemoteLog/snapshots(of:_:)``
package struct ReadSnapshots: LogVerb {
  package static let route = Route(.get, "/v1/logs/*/snapshots")
  package let answerBytesMax = 1 << 16
  package let log: LogName

  package init(_ log: LogName) { self.log = log }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> [RemoteSnapshot]? {
    try await remote.snapshots(of: log.zone, log.incarnation)
  }

  /// A line each: the offset, a space, the maker.
  package func response(_ answer: [RemoteSnapshot]?) -> WireResponse {
    guard let answer else { return .notThere }
    return WireResponse(
      .ok, [.contentType: "text/plain; charset=utf-8"],
      body: Array(answer.map { "\($0.offset) \($0.maker)\n" }.joined().utf8))
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> [RemoteSnapshot]? {
    if response.status == .notFound { return nil }
    var found: [RemoteSnapshot] = []
    for line in String(decoding: response.body, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let offset = UInt64(parts[0]), offset > 0,
        let maker = ReplicaID(String(parts[1]))
      else { throw .malformed("a line names no snapshot: “\(line.prefix(80))”") }
      found.append(RemoteSnapshot(of: log.zone, log.incarnation, at: offset, by: maker))
    }
    return found
  }
}

/// ``RemoteLog/snapshotManifest(of:)``
package struct ReadSnapshotManifest: SnapshotVerb {
  package static let route = Route(.get, "/v1/logs/*/snapshots/*/*/manifest")
  package let answerBytesMax = SnapshotManifest.bytesMax
  package let snapshot: RemoteSnapshot

  package init(of snapshot: RemoteSnapshot) { self.snapshot = snapshot }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> SnapshotManifest? {
    try await remote.snapshotManifest(of: snapshot)
  }

  package func response(_ answer: SnapshotManifest?) -> WireResponse {
    guard let answer else { return .notThere }
    return WireResponse(.ok, [.contentType: "application/octet-stream"], body: answer.encode())
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> SnapshotManifest? {
    if response.status == .notFound { return nil }
    do throws(FormatError) {
      return try SnapshotManifest.read(response.body.span.bytes)
    } catch {
      throw .malformed("the snapshot's manifest cannot be read: \(error)")
    }
  }
}

/// ``RemoteLog/snapshotPart(at:of:)``
package struct ReadSnapshotPart: ObjectVerb {
  package static let route = Route(.get, "/v1/logs/*/snapshots/*/*/*")
  package let answerBytesMax = Limits.snapshotPartBytesMax
  package let snapshot: RemoteSnapshot
  package let index: Int

  package init(_ index: Int, of snapshot: RemoteSnapshot) { (self.index, self.snapshot) = (index, snapshot) }
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    (snapshot, index) = (try request.snapshot(free), try request.part(free[3]))
  }
  package var request: WireRequest { Self.route.request(snapshot, "\(index)") }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> [UInt8]? {
    try await remote.snapshotPart(at: index, of: snapshot)
  }
}

/// ``RemoteLog/putSnapshotPart(_:at:of:)``
package struct PutSnapshotPart: SilentVerb {
  package static let route = Route(.put, "/v1/logs/*/snapshots/*/*/*")
  package static let bodyBytesMax = Limits.snapshotPartBytesMax
  package let bytes: [UInt8]
  package let snapshot: RemoteSnapshot
  package let index: Int

  package init(_ bytes: [UInt8], at index: Int, of snapshot: RemoteSnapshot) {
    (self.bytes, self.index, self.snapshot) = (bytes, index, snapshot)
  }
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    (snapshot, index, bytes) = (try request.snapshot(free), try request.part(free[3]), request.body)
  }
  package var request: WireRequest {
    var request = Self.route.request(snapshot, "\(index)")
    request.body = bytes
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.putSnapshotPart(bytes, at: index, of: snapshot)
  }
}

/// ``RemoteLog/finishSnapshot(_:of:)``
package struct FinishSnapshot: ManifestVerb, SilentVerb {
  package static let route = Route(.put, "/v1/logs/*/snapshots/*/*/manifest")
  package let manifest: SnapshotManifest
  package let snapshot: RemoteSnapshot

  package init(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) {
    (self.manifest, self.snapshot) = (manifest, snapshot)
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.finishSnapshot(manifest, of: snapshot)
  }
}

/// ``RemoteLog/removeSnapshot(_:parts:)``
package struct RemoveSnapshot: SilentVerb {
  package static let route = Route(.delete, "/v1/logs/*/snapshots/*/*")
  package let snapshot: RemoteSnapshot
  package let parts: Int

  package init(_ snapshot: RemoteSnapshot, parts: Int) { (self.snapshot, self.parts) = (snapshot, parts) }
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    snapshot = try request.snapshot(free)
    parts = Int(try request.number("parts", in: 0...UInt64(Limits.snapshotPartsMax)) ?? 0)
  }
  package var request: WireRequest {
    var request = Self.route.request(snapshot)
    request.query["parts"] = "\(parts)"
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.removeSnapshot(snapshot, parts: parts)
  }
}

/// ``RemoteLog/beginLog(with:)``
package struct BeginLog: SnapshotVerb {
  package static let route = Route(.post, "/v1/logs/*/snapshots/*/*/begin")
  package let snapshot: RemoteSnapshot

  package init(of snapshot: RemoteSnapshot) { self.snapshot = snapshot }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> Bool {
    try await remote.beginLog(with: snapshot)
  }

  package func response(_ answer: Bool) -> WireResponse { .isDone(answer) }
  package func answer(_ response: WireResponse) throws(WireProblem) -> Bool { try response.isDone() }
}

/// ``RemoteLog/trim(to:_:)``
package struct TrimLog: ManifestVerb {
  package static let route = Route(.post, "/v1/logs/*/snapshots/*/*/trim")
  package let snapshot: RemoteSnapshot
  package let manifest: SnapshotManifest

  package init(_ manifest: SnapshotManifest, of snapshot: RemoteSnapshot) {
    (self.snapshot, self.manifest) = (snapshot, manifest)
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> UInt64? {
    try await remote.trim(to: snapshot, manifest)
  }

  package func response(_ answer: UInt64?) -> WireResponse {
    guard let answer else { return WireResponse(.noContent) }
    return WireResponse(.ok, [.offset: "\(answer)"])
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> UInt64? {
    if response.status == .noContent { return nil }
    guard let offset = try response.number(.offset) else { throw .malformed("it names no offset") }
    return offset
  }
}
