internal import HTTPTypes

/// What an object store has answered.
struct S3Answer: Sendable {
  let status: HTTPResponse.Status
  let fields: HTTPFields
  let body: [UInt8]
  /// The code of an error, such as `NoSuchKey`; empty if the body says none.
  let code: String
  /// The region of the bucket, if an error says it.
  let region: String?

  init(_ head: HTTPResponse, _ body: [UInt8]) {
    (status, fields, self.body) = (head.status, head.headerFields, body)
    let texts = head.status.kind == .successful ? nil : S3Elements(body)?.texts
    code = texts?["Error/Code"]?.first.flatMap(Self.word) ?? ""
    region = (texts?["Error/Region"]?.first ?? fields[HTTPField.Name("x-amz-bucket-region")!])
      .flatMap(Self.word)
  }

  /// A word that messages may have; nil for other texts.
  private static func word(_ text: String) -> String? {
    let isWord = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || Character(UnicodeScalar($0)).isASCIIWord }
    return isWord && 1...64 ~= text.utf8.count ? text : nil
  }

  /// Whether it is an object, or says that one was written: all object stores give a tag then, and nothing else does.
  var isOfObject: Bool { fields[.eTag] != nil }

  /// The size of an object of which this is the beginning; nil if the answer does not say it.
  var totalBytes: UInt64? {
    if status == .partialContent {
      guard let range = fields[.contentRange], range.hasPrefix("bytes 0-") else { return nil }
      return range.split(separator: "/").last.flatMap { UInt64($0) }
    }
    return fields[.contentLength].flatMap { UInt64($0) }
  }
}

extension Character {
  fileprivate var isASCIIWord: Bool { isASCII && (isLetter || isNumber) }
}
