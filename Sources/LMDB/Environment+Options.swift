extension Environment {
  /// How an environment is opened.
  package struct Options: Sendable {
    /// When a commit reaches the disk: never a silent default.
    package var sync: SyncMode

    /// How much address space to reserve, in bytes; it is halved until the operating system grants it. The file
    /// does not grow with it, but never beyond it.
    package var mapBytes: Int = 1 << 40

    /// How many tables can be open.
    package var tablesMax: Int = 16

    /// How many read transactions can be open, those of all processes together; the first process decides.
    package var readersMax: Int = 1022

    /// Whether nothing is ever written but the lock file.
    package var readOnly = false

    /// Whether a network file system is accepted.
    package var allowsNetworkFileSystem = false

    /// Whether a new store is made where there is none.
    package var createsFile = true

    /// How many pages are checked at most when the environment is opened, besides the free list and the table of
    /// tables; 0 leaves the check out. 4,096 pages are 16 MiB: a store of that size is checked whole, and of a larger
    /// one the small tables and all branch pages, up to some gigabytes.
    package var checkedPagesMax: UInt64 = 4096

    #if DEBUG
      /// Lets C calls fail, for tests.
      package var faults: FaultPlan?
    #endif

    /// Makes the options that suit most.
    package init(sync: SyncMode) {
      self.sync = sync
    }
  }

  /// What LMDB says of an environment.
  package struct Information: Sendable, Hashable {
    /// The reserved address space in bytes.
    package var mapBytes = 0

    /// The number of the last page in use, from 0.
    package var lastPage = 0

    /// The id of the last transaction that was committed.
    package var lastTransactionID: UInt64 = 0

    /// How many read transactions all processes together can have.
    package var readersMax = 0

    /// How many reader slots were ever taken at a time.
    package var readersUsed = 0

    /// The size of a page in bytes.
    package var pageBytes = 0
  }
}
