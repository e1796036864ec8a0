internal import Foundation
internal import Replicator

/// The access key with which requests to an object store are signed.
public struct S3Credentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  public var accessKey: String
  public var secretKey: String
  /// Of credentials that end after a while.
  public var sessionToken: String?

  public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
    (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
  }

  /// Without the secrets.
  public var description: String { "S3Credentials(accessKey: \(accessKey))" }
  /// Without the secrets.
  public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }

  /// Gives the credentials for a request: where they end after a while, it gives new ones in time.
  public typealias Source = @Sendable () async throws -> S3Credentials

  /// Those that other programs use too: of the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
  /// `AWS_SESSION_TOKEN`), or else of a profile in a file (`AWS_PROFILE`, or `default`, in
  /// `AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`). They are read for each request.
  public static let standard: Source = { try find(ProcessInfo.processInfo.environment) }

  /// - Throws: `RemoteError` `unauthenticated` if there are none.
  static func find(_ variables: [String: String]) throws(RemoteError) -> S3Credentials {
    let environment = variables.filter { !$0.value.isEmpty }
    if let accessKey = environment["AWS_ACCESS_KEY_ID"], let secretKey = environment["AWS_SECRET_ACCESS_KEY"]
    {
      return S3Credentials(
        accessKey: accessKey, secretKey: secretKey, sessionToken: environment["AWS_SESSION_TOKEN"])
    }
    let profile = environment["AWS_PROFILE"] ?? "default"
    let path =
      environment["AWS_SHARED_CREDENTIALS_FILE"] ?? "\(environment["HOME"] ?? "")/.aws/credentials"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw missing("no access key is in the environment, and the file \(path) cannot be read")
    }
    let fields = Self.fields(of: profile, in: text)
    guard let accessKey = fields["aws_access_key_id"], let secretKey = fields["aws_secret_access_key"] else {
      throw missing("no access key is in the environment, and none of the profile “\(profile)” in \(path)")
    }
    return S3Credentials(
      accessKey: accessKey, secretKey: secretKey, sessionToken: fields["aws_session_token"])
  }

  /// The lines `name = value` below a line `[profile]`.
  private static func fields(of profile: String, in text: String) -> [String: String] {
    var fields: [String: String] = [:]
    var isInProfile = false
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("[") {
        isInProfile = line.dropFirst().prefix { $0 != "]" }.trimmingCharacters(in: .whitespaces) == profile
      } else if isInProfile, !line.hasPrefix("#"), !line.hasPrefix(";"), let equals = line.firstIndex(of: "=")
      {
        let name = line[..<equals].trimmingCharacters(in: .whitespaces)
        fields[name] = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
      }
    }
    return fields
  }

  private static func missing(_ why: String) -> RemoteError {
    RemoteError(
      .unauthenticated, "there are no credentials for the bucket: \(why)",
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
  }
}
