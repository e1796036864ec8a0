internal import HTTPRemote
internal import RemoteWire
public import Replicator

/// Where a remote is in an object store: `s3://BUCKET`, `s3://BUCKET/PREFIX`.
///
/// What is no part of the name of a bucket may follow as a query: `s3://lists/team?endpoint=https://objects.example.org`,
/// `s3://lists?region=eu-central-1`.
public struct S3Address: Hashable, Sendable, CustomStringConvertible {
  /// The region if none is said.
  private static let standardRegion = "us-east-1"
  private static let prefixBytesMax = 512

  public let bucket: String
  /// What is before the names of the remote's objects: empty, or with a slash at its end.
  public let prefix: String
  public let region: String
  /// The service, if it is not that of Amazon: `https://HOST:PORT`.
  public let endpoint: String?
  let scheme: String
  let authority: String
  /// The path of the bucket: empty if its name is a part of the host's.
  let path: String

  /// - Parameters:
  ///   - text: the address.
  ///   - endpoint: the service, if the address does not say it; nil for Amazon's.
  ///   - region: the region, if the address does not say it; nil for `us-east-1`.
  /// - Throws: `RemoteError` `schemeUnknown` if it is no such address.
  public init(_ text: String, endpoint: String? = nil, region: String? = nil) throws(RemoteError) {
    func bad(_ why: String) -> RemoteError {
      RemoteError(
        // It may have a secret in it.
        .schemeUnknown,
        "“\(text.contains("@") ? "…" : String(text.prefix { $0 != "?" }))” is no address of a bucket: \(why)",
        hint: "give it as s3://BUCKET/PREFIX, or as s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
    }
    let scheme = "s3://"
    guard text.lowercased().hasPrefix(scheme) else { throw bad("it does not begin with \(scheme)") }
    let halves = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1)
    let parts = (halves.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
    bucket = String(parts.first ?? "")
    guard Self.isBucket(bucket) else {
      throw bad("the name of a bucket has 3 to 63 lower-case letters, digits, dots and dashes")
    }
    var folders = parts.dropFirst()
    if folders.last == "" { folders.removeLast() }
    guard folders.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else {
      throw bad("a part of the prefix is empty, “.” or “..”")
    }
    prefix = folders.map { "\($0)/" }.joined()
    guard prefix.utf8.count <= Self.prefixBytesMax, prefix.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
    else { throw bad("the prefix is longer than \(Self.prefixBytesMax) bytes, or has control characters") }
    var settings = ["endpoint": endpoint, "region": region].compactMapValues { $0 }
    for item in halves.count == 2 ? halves[1].split(separator: "&") : [] {
      let pair = item.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, ["endpoint", "region"].contains(pair[0]),
        let value = PercentCoding.decode(pair[1])
      else { throw bad("after “?” it says endpoint=… and region=…") }
      settings[String(pair[0])] = value
    }
    self.region = settings["region"] ?? Self.standardRegion
    guard !self.region.isEmpty, self.region.utf8.allSatisfy(Self.isNamePart) else {
      throw bad("the region is none")
    }
    guard let service = settings["endpoint"] else {
      self.endpoint = nil
      self.scheme = "https"
      let host = "s3.\(self.region).amazonaws.com"
      // No certificate is for a name with more dots.
      (authority, path) = bucket.contains(".") ? (host, "/\(bucket)") : ("\(bucket).\(host)", "")
      return
    }
    let address: HTTPAddress
    do throws(RemoteError) { address = try HTTPAddress(service) } catch {
      throw bad("the endpoint is not https://HOST or http://HOST:PORT")
    }
    guard address.path.isEmpty else { throw bad("the endpoint has a path") }
    self.endpoint = address.text
    self.scheme = address.scheme
    // What is signed is the host as it is sent, and that is without the usual port.
    let port = address.scheme == "https" ? ":443" : ":80"
    authority =
      address.authority.hasSuffix(port) ? String(address.authority.dropLast(port.count)) : address.authority
    path = "/\(bucket)"
  }

  /// An address for which the environment says what it does not say, as for other programs: the endpoint
  /// (`AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`) and the region (`AWS_REGION` or `AWS_DEFAULT_REGION`).
  ///
  /// - Parameters:
  ///   - text: the address.
  ///   - environment: the variables; empty ones do not count.
  /// - Throws: `RemoteError` `schemeUnknown` if it is no such address.
  public init(_ text: String, environment: [String: String]) throws(RemoteError) {
    let set = environment.filter { !$0.value.isEmpty }
    try self.init(
      text, endpoint: set["AWS_ENDPOINT_URL_S3"] ?? set["AWS_ENDPOINT_URL"],
      region: set["AWS_REGION"] ?? set["AWS_DEFAULT_REGION"])
  }

  public var description: String {
    "s3://\(bucket)\(prefix.isEmpty ? "" : "/\(prefix.dropLast())")"
  }

  private static func isBucket(_ name: String) -> Bool {
    (3...63).contains(name.utf8.count) && name.utf8.allSatisfy(isNamePart) && !name.contains("..")
      && name.first != "." && name.first != "-" && name.last != "." && name.last != "-"
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }
}
