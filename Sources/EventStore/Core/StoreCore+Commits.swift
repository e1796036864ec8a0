import LMDB

extension StoreCore {
  /// Lets commits be noted until what it returns is released, and tells the observers of those of other processes.
  func readCommits() -> CommitJournal.Reading {
    journal.read { [environment, observers, configuration, weak journal] in
      if configuration.writesOnCallingThread { return nil }
      return FileWatch(directory + "/data.mdb", pauseMilliseconds: 10) { [weak environment] in
        guard let last = try? environment?.lastTransactionID, last != journal?.lastID else { return }
        observers.notify()
      }
    }
  }
}
