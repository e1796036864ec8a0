/// A commit of a history: what one writer did to files at once.
package struct HistoryCommit: Sendable, Hashable {
  /// Its author. Each author has a device.
  package var author: String
  /// When it was made, in milliseconds since 1970, by the history's clock.
  package var milliseconds: Int64
  /// When it was made by the author's own clock, which may be wrong.
  var authorMilliseconds: Int64
  /// The author's description of it.
  var label: String?
  /// None for a commit that only joins others.
  var changes: [HistoryChange]

  package init(
    author: String, milliseconds: Int64, authorMilliseconds: Int64, label: String? = nil,
    changes: [HistoryChange]
  ) {
    self.author = author
    self.milliseconds = milliseconds
    self.authorMilliseconds = authorMilliseconds
    self.label = label
    self.changes = changes
  }
}

/// A change of a file.
package struct HistoryChange: Sendable, Hashable {
  /// As in a file system: bytes, which need not be UTF-8.
  var path: [UInt8]
  /// The file after the change; nil if it is removed.
  var content: HistoryContent?

  package init(path: [UInt8], content: HistoryContent?) {
    self.path = path
    self.content = content
  }
}

/// The content and the mode of a file.
package struct HistoryContent: Sendable, Hashable {
  /// The hash of its content.
  var blob: String
  /// In bytes; nil if it has no size, like a submodule.
  var size: Int64?
  /// Such as `100644`; nil if it is not known.
  var mode: String?

  package init(blob: String, size: Int64?, mode: String?) {
    self.blob = blob
    self.size = size
    self.mode = mode
  }
}
