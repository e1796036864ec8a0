extension Environment {
  /// How an environment is opened.
  package struct Options: Sendable {
    /// When a commit reaches the disk. It has no default: the caller must choose.
    package var sync: SyncMode

    /// How much address space to reserve, in bytes. It is halved until the operating system grants it. The
    /// file takes disk space only as it grows, but it cannot grow beyond this size.
    package var mapBytes: Int = 1 << 40

    /// How many tables can be open.
    package var tablesMax: Int = 24

    /// How many read transactions all processes together can have open. The first process that opens the file
    /// decides.
    package var readersMax: Int = 1022

    /// Whether the environment only reads. It then writes only to the lock file.
    package var readOnly = false

    /// Whether the file may be on a network file system.
    package var allowsNetworkFileSystem = false

    /// Whether a missing store is created.
    package var createsFile = true

    /// How many pages an open checks at most, besides the free list and the table of tables; 0 skips the
    /// check. The default of 4,096 pages is 16 MiB. A store of up to that size is checked completely. In a
    /// larger store, up to some gigabytes, the small tables and all branch pages are checked.
    package var checkedPagesMax: UInt64 = 4096

    #if DEBUG
      /// Makes C calls fail, for tests.
      package var faults: FaultPlan?
    #endif

    /// Creates options with the defaults that suit most stores.
    package init(sync: SyncMode) {
      self.sync = sync
    }
  }

  /// What LMDB reports about an environment.
  package struct Information: Sendable, Hashable {
    /// The reserved address space in bytes.
    package var mapBytes = 0

    /// The number of the last page in use, from 0.
    package var lastPage = 0

    /// The id of the last transaction that was committed.
    var lastTransactionID: UInt64 = 0

    /// How many read transactions all processes together can have.
    package var readersMax = 0

    /// How many reader slots were in use at the same time, at most.
    package var readersUsed = 0

    /// The size of a page in bytes.
    package var pageBytes = 0
  }
}
