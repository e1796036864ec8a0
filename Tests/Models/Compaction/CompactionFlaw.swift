/// A wrong rule of compaction, which the search must find.
enum CompactionFlaw: CaseIterable {
  // Of the maker of a floor.

  /// Names a floor above the base of another lane.
  case ignoresLanes

  // Of the rule.

  /// A floor counts also if its transaction has not seen so much of the log.
  case floorAboveBase
  /// A floor counts also if it is below the last one.
  case lowersFloor
  /// Compacts also what was changed after the floor.
  case compactsChanged
  /// A head that compaction wrote stands where its last change does.
  case seesPlaceOfStamp
  /// What a writer changed last it has seen as a whole.
  case seesOwnStamp
  /// Ignores what is done to a record that is not there, `create` aside.
  case parks
  /// A record that was dropped is there again after any change.
  case showsUncreated
  /// Drops a record if its greatest head says that it is dead.
  case dropsContested
  /// Keeps only the greatest head of an existence.
  case decidesExistence
  /// Keeps another value of a conflict than its greatest.
  case keepsLoser
  /// Keeps the last addend beside the sum.
  case countsTwice
  /// Counts units from 0 again where a record was dropped.
  case forgetsUnitCounts
  /// A late transaction has not seen the units that were compacted, even those that it names.
  case roundsUnits

  /// Compacts a record later, and not before it is changed.
  case compactsTooLate

  // Of what is promised.

  /// That a record shows what it would show without floors, also after late changes.
  case promisesLate
  /// That an undo revives a record also after a floor dropped it.
  case promisesUndo

  // Of a store.

  /// Compacts the state that it has, with its pending work in it.
  case compactsUnsettled
  /// What is pending has seen all that was compacted, because it was written on it.
  case keepsSight
  /// Forgets its pending work when it compacts.
  case dropsPending
  /// Compacts when it writes the floor.
  case compactsAtOnce
  /// Starts from a snapshot without its floor.
  case forgetsFloor
  /// Starts from a snapshot without places, as if all heads stood at the floor.
  case forgetsPlaces
}
