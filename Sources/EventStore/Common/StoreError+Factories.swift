import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Errors that more than one place throws.
extension StoreError {
  /// The error of what cannot be done while the log is folded again.
  static func foldingAgain(_ what: String) -> StoreError {
    StoreError(
      .outOfOrder, "\(what) while a zone is folded again",
      hint: "try again after the next round of sync, or after a rebuild")
  }

  static func accessDenied(_ directory: String) -> StoreError {
    StoreError(
      .accessDenied, "access to the store “\(directory)” is denied",
      hint:
        "run it as a user who may read and write the directory and its files: reading too writes, to note "
        + "who reads in the lock file `lock.mdb`. A user who may only read copies the directory, and reads the "
        + "copy")
  }

  /// Why a data file cannot be seen in a directory, by `errno`.
  static func unseen(_ code: Int32, in directory: String) -> StoreError {
    switch code {
    case EACCES, EPERM:
      accessDenied(directory)
    case ENOTDIR:
      StoreError(
        .notAStore, "“\(directory)” is not a directory, or is in something that is none",
        hint: "give the directory of a store, not a file in it")
    case ENOENT:
      StoreError(
        .notAStore, "there is no store in “\(directory)”", hint: "give the directory of a store")
    default:
      StoreError(
        .system, "“\(directory)” cannot be looked into: \(String(cString: strerror(code)))",
        hint: "check the disk and the path")
    }
  }

  /// The error of a log that has something else at an offset that the zone's first snapshot reaches over.
  static func readAgainBeforeOrigin(_ zone: ZoneID, from offset: UInt64, _ origin: UInt64) -> StoreError {
    StoreError(
      .retired,
      "the log of zone “\(zone)” is to be read again from offset \(offset), and the store begins with a "
        + "snapshot at offset \(origin)",
      hint:
        "what the store has is kept. It syncs again once a store that has all of that has sent it and made a snapshot. "
        + "If there is none, let a new store sync the zone; `replay export STORE --records -o FILE` writes the records of "
        + "this one, and `replay import` brings into the new one what that lacks")
  }

  static func closed(_ directory: String) -> StoreError {
    StoreError(.closed, "the store “\(directory)” is closed", hint: "open it again")
  }

  static func removed(_ directory: String) -> StoreError {
    StoreError(
      .removed, "the data file of the store “\(directory)” was removed or replaced while it was open",
      hint: "nothing that is written now can be read again: close the store, and open what is there")
  }

  static func readOnly(_ directory: String) -> StoreError {
    StoreError(
      .readOnly, "the store “\(directory)” was opened read-only", hint: "open it for writing")
  }

  static func unknown(_ zone: ZoneID) -> StoreError {
    StoreError(
      .zoneUnknown, "the store has no zone “\(zone)”",
      hint: "create it, name it in `zones` when the store is opened, or check its name")
  }

  static func unknown(_ record: RecordID) -> StoreError {
    StoreError(
      .recordUnknown, "there is no record \(record), or it was deleted",
      hint: "check its name, or create it; one that was deleted would start without its fields")
  }

  static func unknown(_ record: RecordID, asOneOf types: [Name], _ type: Name) -> StoreError {
    let wanted = types.map { "“\($0)”" }.joined(separator: " or ")
    return StoreError(
      .recordUnknown, "the record \(record) is a “\(type)”, not a \(wanted)",
      hint: "use a reference to a record of its own model")
  }

  /// The error of a change that cannot be encoded.
  static func unstorable(_ field: Name, _ record: RecordID, _ error: FormatError) -> StoreError {
    StoreError(
      .valueInvalid, "the change of field “\(field)” of \(record) cannot be stored: \(error)",
      hint: error.code == .accountUnknown
        ? ownerHint
        : "keep values within 1 MiB and a depth of 32, and keys within 255 bytes; "
          + "keep larger bytes as an asset",
      underlying: error)
  }

  /// - Parameter place: the other place of a record that moves.
  static func unstorable(_ place: RecordID, in zone: ZoneID, _ error: FormatError) -> StoreError {
    StoreError(
      .valueInvalid, "the log of zone “\(zone)” cannot name the record \(place): \(error)", hint: ownerHint,
      underlying: error)
  }

  private static let ownerHint =
    "a log of another owner can name zones of owners by their accounts, and the account of this store's user is "
    + "not known: make a copy in your zone, and delete this record"

  static func missing(_ sequence: UInt64, _ zone: ZoneID) -> StoreError {
    StoreError(
      .damaged, "sequence \(sequence) of zone “\(zone)” is missing from the store",
      hint: "run a verification of the store")
  }

  static func incarnationChanged(_ zone: ZoneID, _ incarnation: IncarnationID) -> StoreError {
    StoreError(
      .incarnationChanged, "the remote log of zone “\(zone)” is another incarnation, \(incarnation)",
      hint: "the remote was re-created or replaced: the zone must be offered to it again")
  }

  /// The error of a transaction that no replica would fold.
  static func tooMuchWork(_ what: String, _ steps: Int) -> StoreError {
    StoreError(
      .transactionTooLarge,
      "\(what) takes \(steps) steps to be folded, over the limit of \(Limits.foldStepsMax) in one zone",
      hint: "split it into several writes: the page *Transactions and durability* says how much one may do")
  }

  static func damagedAsset(_ asset: AssetReference, _ what: String) -> StoreError {
    StoreError(
      .assetDamaged, "the file of asset \(asset.hash), which has \(asset.byteCount) bytes, \(what)",
      hint: "download it again, or import it once more: either replaces the file")
  }

  static func missingAsset(_ asset: AssetReference) -> StoreError {
    StoreError(
      .assetMissing, "asset \(asset.hash), which has \(asset.byteCount) bytes, is not here",
      hint: "download it with `LogReplicator.downloadAsset`, or import it")
  }
}

/// Checks of what an app says of a list or a text. It may say any number: nothing is added to one before it
/// is checked.
extension StoreError {
  fileprivate static func missingIndex(_ what: String, _ count: Int, _ field: Name) -> StoreError {
    StoreError(
      .indexInvalid, "the field “\(field)” has no \(what): it has \(count) elements",
      hint: "an index is from 0, and counts the elements of a list or the Unicode scalars of a text that are "
        + "there now: count again")
  }
}

extension Int {
  /// - Throws: ``StoreError`` `indexInvalid` if it is not the index of one of `count` units.
  func checkIsIndex(below count: Int, _ field: Name) throws {
    guard self >= 0, self < count else { throw StoreError.missingIndex("index \(self)", count, field) }
  }
}

extension Range<Int> {
  /// - Throws: ``StoreError`` `indexInvalid` if it is not a range of `count` units.
  func checkIsRange(of count: Int, _ field: Name) throws {
    guard lowerBound >= 0, upperBound <= count else {
      throw StoreError.missingIndex("range \(self)", count, field)
    }
  }
}

extension StoreError {
  static let identityChanged = StoreError(
    .closed, "another process has opened the store in another place, and it has another identity since",
    hint: "close the store and open it again")
}
