internal import HTTPTypes
internal import OperationFormat
package import Replicator

extension WireRequest {
  /// The asset that a request is about: its log, and its hash and count of bytes as `HASH-COUNT`.
  fileprivate func asset(_ free: [String]) throws(WireProblem) -> RemoteAsset {
    let log = try LogName(self, free)
    let reference = try parsed(free[1], "the asset", "a hash of 64 hexadecimal digits, `-`, and a number") {
      text in
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let hash = ContentHash(String(parts[0])), let count = UInt64(parts[1]) else {
        return AssetReference?.none
      }
      return AssetReference(hash: hash, byteCount: count)
    }
    return RemoteAsset(reference, of: log.zone, log.incarnation)
  }
}

extension Route {
  fileprivate func request(_ asset: RemoteAsset, _ free: String...) -> WireRequest {
    let name = "\(asset.reference.hash)-\(asset.reference.byteCount)"
    return request([asset.incarnation.description, name] + free).naming(asset.zone)
  }
}

extension RemoteVerb where Answer == RemoteAssetState {
  package var answerBytesMax: Int { AssetManifest.bytesMax }

  package func response(_ answer: RemoteAssetState) -> WireResponse {
    switch answer {
    case .gone(let fate): .gone(fate)
    case .partial(let chunks): WireResponse(.ok, [.chunks: "\(chunks)"])
    case .whole(let manifest):
      WireResponse(.ok, [.contentType: "application/octet-stream"], body: manifest.bytes)
    }
  }

  package func answer(_ response: WireResponse) throws(WireProblem) -> RemoteAssetState {
    if response.fields[.code] == "gone" { return .gone(try response.fate()) }
    if let chunks = try response.number(.chunks) { return .partial(chunks: chunks) }
    do throws(FormatError) {
      return .whole(try AssetManifest(decoding: response.body.span.bytes))
    } catch {
      throw .malformed("the asset's manifest cannot be read: \(error)")
    }
  }
}

/// ``RemoteLog/assetState(_:)``
package struct ReadAssetState: RemoteVerb {
  package static let route = Route(.get, "/v1/logs/*/assets/*")
  package let asset: RemoteAsset

  package init(_ asset: RemoteAsset) { self.asset = asset }
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    asset = try request.asset(free)
  }
  package var request: WireRequest { Self.route.request(asset) }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> RemoteAssetState {
    try await remote.assetState(asset)
  }
}

/// ``RemoteLog/assetChunk(at:of:)``
package struct ReadAssetChunk: ObjectVerb {
  package static let route = Route(.get, "/v1/logs/*/assets/*/*")
  package let answerBytesMax = AssetManifest.chunkBytes
  package let asset: RemoteAsset
  package let index: UInt64

  package init(_ index: UInt64, of asset: RemoteAsset) { (self.index, self.asset) = (index, asset) }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    asset = try request.asset(free)
    index = try request.parsed(free[2], "the chunk", "a number", UInt64.init)
  }

  package var request: WireRequest { Self.route.request(asset, "\(index)") }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> [UInt8]? {
    try await remote.assetChunk(at: index, of: asset)
  }
}

/// ``RemoteLog/putAssetChunk(_:at:of:)``
package struct PutAssetChunk: SilentVerb {
  package static let route = Route(.put, "/v1/logs/*/assets/*/*")
  package static let bodyBytesMax = AssetManifest.chunkBytes
  package let bytes: [UInt8]
  package let asset: RemoteAsset
  package let index: UInt64

  package init(_ bytes: [UInt8], at index: UInt64, of asset: RemoteAsset) {
    (self.bytes, self.index, self.asset) = (bytes, index, asset)
  }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    asset = try request.asset(free)
    index = try request.parsed(free[2], "the chunk", "a number", UInt64.init)
    bytes = request.body
  }

  package var request: WireRequest {
    var request = Self.route.request(asset, "\(index)")
    request.body = bytes
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) {
    try await remote.putAssetChunk(bytes, at: index, of: asset)
  }
}

/// ``RemoteLog/finishAsset(_:of:_:)``
package struct FinishAsset: RemoteVerb {
  package static let route = Route(.put, "/v1/logs/*/assets/*/manifest")
  package static let bodyBytesMax = AssetManifest.bytesMax
  package let manifest: AssetManifest
  package let log: LogName

  package init(_ manifest: AssetManifest, of log: LogName) { (self.manifest, self.log) = (manifest, log) }

  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    let asset = try request.asset(free)
    log = LogName(asset.zone, asset.incarnation)
    do throws(FormatError) {
      manifest = try AssetManifest(decoding: request.body.span.bytes)
    } catch {
      throw .malformed("the body is no manifest of an asset: \(error)")
    }
    guard manifest.asset == asset.reference else { throw .malformed("the body is another asset's manifest") }
  }

  package var request: WireRequest {
    var request = Self.route.request(RemoteAsset(manifest.asset, of: log.zone, log.incarnation))
    request.body = manifest.bytes
    return request
  }

  package func call(_ remote: any RemoteLog) async throws(RemoteError) -> RemoteAssetState {
    try await remote.finishAsset(manifest, of: log.zone, log.incarnation)
  }
}
