internal import Foundation

#if canImport(FoundationXML)
  internal import FoundationXML
#endif

/// The texts of an XML document, in the order in which they come, by the names of the elements that they are in:
/// `ListBucketResult/Contents/Key`.
final class S3Elements: NSObject, XMLParserDelegate {
  /// Of elements further in, or of longer names, nothing is kept.
  private static let (depthMax, nameBytesMax) = (3, 64)
  /// A document in which elements are further in is none that an object store sends.
  private static let nestingMax = 16

  private(set) var texts: [String: [String]] = [:]
  private var names: [String] = []
  private var depth = 0
  private var text = ""

  /// Nil if it is no such document.
  init?(_ bytes: [UInt8]) {
    super.init()
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = self
    // The parser of Linux takes a document that is cut short for a whole one.
    guard parser.parse(), depth == 0, !texts.isEmpty else { return nil }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    depth += 1
    if depth > Self.nestingMax || name.utf8.count > Self.nameBytesMax { parser.abortParsing() }
    if depth <= Self.depthMax { names.append(name) }
    text = ""
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    if depth <= Self.depthMax {
      texts[names.joined(separator: "/"), default: []].append(text)
      names.removeLast()
    }
    depth -= 1
    text = ""
  }
}
