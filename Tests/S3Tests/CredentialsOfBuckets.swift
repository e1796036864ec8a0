import Foundation
import Replicator
import StoreTesting
import Testing

@testable import S3Remote

@Suite("Credentials of buckets")
struct CredentialsOfBuckets {
  private let directory = TemporaryDirectory()

  @Test("come from the environment, or else from a profile in a file")
  func places() throws {
    let path = directory.path + "/credentials"
    let text = """
      [default]
      aws_access_key_id = one
      aws_secret_access_key=two
      # aws_session_token = no
      [ team ]
      aws_access_key_id = three
      aws_secret_access_key = four==
      aws_session_token = five
      """
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    let file = ["AWS_SHARED_CREDENTIALS_FILE": path]
    #expect(try S3Credentials.find(file) == S3Credentials(accessKey: "one", secretKey: "two"))
    #expect(
      try S3Credentials.find(file.merging(["AWS_PROFILE": "team"]) { $1 })
        == S3Credentials(accessKey: "three", secretKey: "four==", sessionToken: "five"))
    let environment = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c"]
    #expect(
      try S3Credentials.find(file.merging(environment) { $1 })
        == S3Credentials(accessKey: "a", secretKey: "b", sessionToken: "c"))
    for missing in [
      file.merging(["AWS_PROFILE": "none"]) { $1 }, ["AWS_SHARED_CREDENTIALS_FILE": path + "x"],
    ] {
      #expect { try S3Credentials.find(missing) } throws: {
        ($0 as? RemoteError)?.code == .unauthenticated
      }
    }
  }
}
