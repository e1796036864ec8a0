/// The rules by which replicas sync and read.
struct Rules {
  /// What is done wrong on purpose.
  var flaw: Flaw?

  /// A wrong rule, which the search must find.
  enum Flaw: CaseIterable {
    /// Puts entries back at their offsets without comparing the log before them.
    case refillsUnverified
    /// No reader observes limits.
    case ignoresLimits
    /// One replica, the last, observes no limits.
    case ignoresLimitsSomewhere
    /// The limits that a replica has set itself count for it, whatever the log says.
    case keepsOwnLimits
    /// Takes a limit as it is, also if the log says that the transaction before it in its lane has seen more.
    case limitsBelowLane
    /// Parting a second time replaces a lower limit by a higher one.
    case raisesLimits
    /// A replica that parts from the log writes with the base that it had, until it has read as far again.
    case keepsBase
    /// Offers what it has lost from its last entry to its first.
    case offersBackwards
    /// Offers the transactions of others under its own identity.
    case issuesAgain
    /// Offers only its own transactions, and drops those of others.
    case dropsOthers
    /// Promises that a transaction forgets only what its writer had read in the log, and nothing of what the
    /// writer held of a lost log besides.
    case promisesMore
  }
}
