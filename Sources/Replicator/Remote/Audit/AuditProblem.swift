package import OperationFormat

/// Something that is wrong at a remote.
package struct AuditProblem: Sendable {
  /// Its place: a path below the remote's place.
  package var place: String
  package var message: String
  /// The entry that it is about, or the event of the list of zones; nil if it is about none.
  package var entry: EntryPlace?
  /// The asset that it is about; nil if it is about none.
  package var asset: AssetReference?
  /// The log that it is about, if no event of the list of zones names that log; else nil.
  package var unnamedLog: IncarnationID?
  /// Whether this user may not read the object: then it may be whole.
  package var isDenied = false
  /// Whether only a newer version can read it: then it is whole, and need not be put back.
  package var isNewer = false

  /// Whether it is about where its log begins: a trim writes that again.
  package var isAboutFloor = false

  /// Whether it is about a snapshot that is not whole: the one with which its log begins, or another; nil if it is not.
  package var brokenSnapshot: BrokenSnapshot?

  package enum BrokenSnapshot: Sendable {
    case begin, other
  }

  /// Whether it is about a snapshot: no store needs that, unless the log begins with it.
  package var isAboutSnapshot: Bool { ObjectName(path: place)?.isOfSnapshot ?? false }

  init(
    _ place: String, _ message: String, entry: EntryPlace? = nil, asset: AssetReference? = nil,
    unnamedLog: IncarnationID? = nil, isDenied: Bool = false, isNewer: Bool = false,
    isAboutFloor: Bool = false, brokenSnapshot: BrokenSnapshot? = nil
  ) {
    self.place = place
    self.message = message
    self.entry = entry
    self.asset = asset
    self.unnamedLog = unnamedLog
    self.isDenied = isDenied
    self.isNewer = isNewer
    self.isAboutFloor = isAboutFloor
    self.brokenSnapshot = brokenSnapshot
  }
}
