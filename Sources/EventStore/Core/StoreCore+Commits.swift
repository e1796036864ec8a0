import LMDB

extension StoreCore {
  /// Lets commits be noted until what it returns is released, and tells the observers of those of other processes.
  func readCommits() -> CommitJournal.Reading {
    journal.read { [environment, observers, configuration, weak journal] in
      if configuration.writesOnCallingThread { return nil }
      return FileWatch(directory + "/data.mdb", pauseMilliseconds: 10) { [weak environment] in
        guard let environment, let last = try? environment.lastTransactionID, last != journal?.lastID else {
          return true
        }
        observers.notify()
        // LMDB writes the commit to the file first, and then tells readers of it in the lock file. Nothing is written
        // to the file after that, so a writer that is slow in between wakes nobody.
        return (try? environment.visibleTransactionID).map { $0 >= last } ?? false
      }
    }
  }
}
