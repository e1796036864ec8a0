/// A commit, and its changes compared with its first parent.
struct GitCommit {
  struct Change {
    /// `A`, `M`, `T` or `D`.
    var status: UInt8
    /// The file's mode after the change, such as `100644`; `160000` is a submodule.
    var mode: String
    /// The blob's hash after the change; for a submodule its commit.
    var blob: String
    /// The path as in git: bytes that need not be UTF-8.
    var path: [UInt8]
  }

  var hash: String
  /// Seconds since 1970.
  var time: Int64
  /// The time by the author's clock when the change was first made, in seconds since 1970.
  var authorTime: Int64
  var author: String
  var subject: String
  var changes: [Change] = []
}
