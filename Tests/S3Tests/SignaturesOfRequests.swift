import HTTPTypes
import Replicator
import Testing

@testable import S3Remote

@Suite("Signatures of requests to an object store")
struct SignaturesOfRequests {
  /// "Signature Calculations for the Authorization Header", Examples, in the reference of Amazon S3.
  struct Example: CustomTestStringConvertible {
    var method: HTTPRequest.Method
    var path: String
    var fields: HTTPFields = [:]
    var body = ""
    var signature: String

    var testDescription: String { "\(method) \(path)" }
  }

  static let examples = [
    Example(
      method: .get, path: "/test.txt", fields: [.range: "bytes=0-9"],
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    Example(
      method: .put, path: "/test%24file.text",
      fields: [
        .date: "Fri, 24 May 2013 00:00:00 GMT",
        HTTPField.Name("x-amz-storage-class")!: "REDUCED_REDUNDANCY",
      ],
      body: "Welcome to Amazon S3.",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    Example(
      method: .get, path: "/?lifecycle=",
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    Example(
      method: .get, path: "/?prefix=J&max-keys=2",
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ]

  @Test("are those that Amazon prints", arguments: examples)
  func amazon(_ example: Example) {
    let signature = SignatureV4(
      credentials: S3Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
      region: "us-east-1")
    var request = HTTPRequest(
      method: example.method, scheme: "https", authority: "examplebucket.s3.amazonaws.com",
      path: example.path,
      headerFields: example.fields)
    signature.sign(&request, body: Array(example.body.utf8), at: 1_369_353_600)
    #expect(request.headerFields[.authorization]?.hasSuffix("Signature=\(example.signature)") ?? false)
  }

  @Test("say the token of credentials that end")
  func sessionToken() {
    let signature = SignatureV4(
      credentials: S3Credentials(accessKey: "key", secretKey: "secret", sessionToken: "token"),
      region: "us-east-1")
    var request = HTTPRequest(method: .get, scheme: "https", authority: "host", path: "/")
    signature.sign(&request, body: [], at: 0)
    #expect(request.headerFields[HTTPField.Name("x-amz-security-token")!] == "token")
    #expect(request.headerFields[.authorization]?.contains("x-amz-security-token,") ?? false)
  }
}

@Suite("Addresses of buckets")
struct AddressesOfBuckets {
  @Test(
    "say where a bucket is",
    arguments: [
      ("s3://lists", "https://lists.s3.us-east-1.amazonaws.com", "", "s3://lists"),
      ("S3://lists/a/b/", "https://lists.s3.us-east-1.amazonaws.com", "a/b/", "s3://lists/a/b"),
      (
        "s3://my.lists?region=eu-central-1", "https://s3.eu-central-1.amazonaws.com/my.lists", "",
        "s3://my.lists"
      ),
      ("s3://lists/a?endpoint=http://h:9000", "http://h:9000/lists", "a/", "s3://lists/a"),
      ("s3://lists?region=auto&endpoint=https%3A%2F%2Fh:443", "https://h/lists", "", "s3://lists"),
    ])
  func valid(_ text: String, _ place: String, _ prefix: String, _ name: String) throws {
    let address = try S3Address(text)
    #expect("\(address.scheme)://\(address.authority)\(address.path)" == place)
    #expect(address.prefix == prefix)
    #expect("\(address)" == name)
  }

  @Test(
    "are refused if they are none",
    arguments: [
      "", "lists", "http://lists", "s3://", "s3://ab", "s3://Lists", "s3://lists/../x", "s3://lists//x",
      "s3://lists/./x", "s3://lists?x=1", "s3://lists?endpoint=h", "s3://lists?endpoint=https://h/path",
      "s3://lists?region=a/b", "s3://lists?region=", "s3://key:secret@lists", "s3://li..sts",
      "s3://lists/a\u{7}",
      "s3://lists/" + String(repeating: "x", count: 600),
    ])
  func invalid(_ text: String) {
    #expect { try S3Address(text) } throws: { error in
      (error as? RemoteError)?.code == .schemeUnknown && !"\(error)".contains("secret@")
    }
  }

  @Test("take from the environment what they do not say")
  func environment() throws {
    let variables = [
      "AWS_ENDPOINT_URL": "http://h:1", "AWS_ENDPOINT_URL_S3": "", "AWS_DEFAULT_REGION": "eu-west-1",
    ]
    let address = try S3Address("s3://lists", environment: variables)
    #expect(address.endpoint == "http://h:1" && address.region == "eu-west-1")
    #expect(try S3Address("s3://lists?region=auto", environment: variables).region == "auto")
  }

  @Test("and what the address does not say comes from elsewhere")
  func defaults() throws {
    let address = try S3Address("s3://lists?region=eu-west-1", endpoint: "http://h:1", region: "us-west-2")
    #expect(address.region == "eu-west-1" && address.endpoint == "http://h:1")
  }
}
