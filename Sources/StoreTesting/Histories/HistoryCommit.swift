/// A commit of a history: what one writer did to files at once.
package struct HistoryCommit: Sendable, Hashable {
  /// Its author. Each author has a device.
  package var author: String
  /// When it was made, in milliseconds since 1970, by the history's clock.
  package var milliseconds: Int64
  /// When it was made by the author's own clock, which may be wrong.
  var authorMilliseconds: Int64
  /// What it is, in the author's words.
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
  /// As file systems have it: bytes, which need not be UTF-8.
  var path: [UInt8]
  /// What the file is from now on, nil for a removal.
  var content: HistoryContent?

  package init(path: [UInt8], content: HistoryContent?) {
    self.path = path
    self.content = content
  }
}

/// What a file is.
package struct HistoryContent: Sendable, Hashable {
  /// The hash of its content.
  var blob: String
  /// In bytes; nil for what has no size, such as a submodule.
  var size: Int64?
  /// Such as `100644`; nil where that is not known.
  var mode: String?

  package init(blob: String, size: Int64?, mode: String?) {
    self.blob = blob
    self.size = size
    self.mode = mode
  }
}
