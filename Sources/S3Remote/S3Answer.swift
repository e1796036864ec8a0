internal import Foundation
internal import HTTPTypes
internal import RemoteWire
internal import Replicator

#if canImport(FoundationXML)
  internal import FoundationXML
#endif

/// What an object store has answered.
struct S3Answer: Sendable {
  var status: HTTPResponse.Status
  var fields: HTTPFields
  var body: [UInt8]

  /// The code of an error, such as `NoSuchKey`; empty if the body says none.
  var code: String {
    guard status.kind != .successful else { return "" }
    return S3Elements(body)?.texts["Error/Code"]?.first ?? ""
  }

  /// The object's size, of an answer with a part of it: `bytes 0-9/443`.
  var totalBytes: UInt64? {
    fields[.contentRange]?.split(separator: "/").last.flatMap { UInt64($0) }
  }
}

/// The texts of an XML document, in the order in which they come, by the names of the elements that they are in:
/// `ListBucketResult/Contents/Key`.
final class S3Elements: NSObject, XMLParserDelegate {
  private(set) var texts: [String: [String]] = [:]
  private var names: [String] = []
  private var text = ""

  /// Nil if it is no such document.
  init?(_ bytes: [UInt8]) {
    super.init()
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = self
    guard parser.parse() else { return nil }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    names.append(name)
    text = ""
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    texts[names.joined(separator: "/"), default: []].append(text)
    names.removeLast()
    text = ""
  }
}

/// A page of a list of objects.
struct S3Page: Sendable {
  struct Object: Sendable {
    var key: String
    var bytes: UInt64
  }

  var objects: [Object]
  /// With what the next page is asked for; nil if this is the last.
  var next: String?

  /// Nil if it is none.
  init?(_ body: [UInt8]) {
    guard let texts = S3Elements(body)?.texts, texts["ListBucketResult/IsTruncated"] != nil else {
      return nil
    }
    let isCoded = texts["ListBucketResult/EncodingType"] == ["url"]
    let keys = texts["ListBucketResult/Contents/Key"] ?? []
    let sizes = texts["ListBucketResult/Contents/Size"] ?? []
    guard keys.count == sizes.count else { return nil }
    objects = []
    for (key, size) in zip(keys, sizes) {
      let decoded = isCoded ? PercentCoding.decode(key.replacing("+", with: " ")) : key
      guard let decoded, let bytes = UInt64(size) else { return nil }
      objects.append(Object(key: decoded, bytes: bytes))
    }
    guard texts["ListBucketResult/IsTruncated"] == ["true"] else { return }
    next = texts["ListBucketResult/NextContinuationToken"]?.first
    if next == nil { return nil }
  }
}
