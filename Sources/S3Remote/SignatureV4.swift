internal import Crypto
internal import Foundation
internal import HTTPTypes

/// Signs requests as object stores want it: AWS Signature Version 4, "Authenticating Requests (AWS Signature Version 4)" in
/// the reference of Amazon S3.
///
/// All fields of the head are signed, so that nothing on the way can take away the condition of a put.
struct SignatureV4: Sendable {
  private static let algorithm = "AWS4-HMAC-SHA256"
  private static let (dateField, hashField) = (
    HTTPField.Name("x-amz-date")!, HTTPField.Name("x-amz-content-sha256")!
  )

  var credentials: S3Credentials
  var region: String

  /// Adds the fields that say who sends a request, when, and with what body.
  ///
  /// - Parameter seconds: the time, since 1970.
  func sign(_ request: inout HTTPRequest, body: [UInt8], at seconds: Int64) {
    let time = Self.time(seconds)
    let hash = Self.hexadecimal(SHA256.hash(data: body))
    request.headerFields[Self.dateField] = time
    request.headerFields[Self.hashField] = hash
    if let token = credentials.sessionToken {
      request.headerFields[HTTPField.Name("x-amz-security-token")!] = token
    }
    var fields = request.headerFields.map { (name: $0.name.canonicalName, value: $0.value) }
    fields.append(("host", request.authority ?? ""))
    fields.sort { $0.name < $1.name }
    let names = fields.map(\.name).joined(separator: ";")
    let target = (request.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = target.count == 2 ? target[1].split(separator: "&").sorted().joined(separator: "&") : ""
    let canonical =
      [request.method.rawValue, String(target[0]), query] + fields.map { "\($0.name):\($0.value)" } + [
        "", names, hash,
      ]
    let day = String(time.prefix(8))
    let scope = "\(day)/\(region)/s3/aws4_request"
    let signed = [
      Self.algorithm, time, scope,
      Self.hexadecimal(SHA256.hash(data: Data(canonical.joined(separator: "\n").utf8))),
    ]
    var key = SymmetricKey(data: Data("AWS4\(credentials.secretKey)".utf8))
    for text in [day, region, "s3", "aws4_request"] { key = SymmetricKey(data: Self.code(text, key)) }
    let signature = Self.hexadecimal(Self.code(signed.joined(separator: "\n"), key))
    request.headerFields[.authorization] =
      "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
  }

  private static func code(_ text: String, _ key: SymmetricKey) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// `20130524T000000Z`.
  private static func time(_ seconds: Int64) -> String {
    Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(
      .iso8601.year().month().day().dateSeparator(.omitted).time(includingFractionalSeconds: false)
        .timeSeparator(.omitted).timeZone(separator: .omitted))
  }
}
