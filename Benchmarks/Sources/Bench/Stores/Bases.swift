import EventStore
import Stores

/// Stores with all records, made once; each turn begins with a copy.
struct Bases {
  let dataset: Dataset
  let engine: String
  let sqlite: String

  /// Opens a copy for a turn.
  func openEngine(in place: Place, as name: String = "ours") throws -> Engine {
    try Engine(try place.copy(engine, as: name), dataset)
  }

  /// A copy for LMDB alone, with what an engine writes when it opens one: a copy takes a new identity.
  func copyForLMDB(in place: Place) throws -> String {
    try openEngine(in: place, as: "raw").store.close()
    return place.path + "/raw"
  }

  func openSQLite(in place: Place) throws -> SQLite {
    try SQLite(try place.copy(sqlite, as: "sqlite-turn"), dataset)
  }
}

extension Bases {
  init(_ place: Place, _ sizes: Sizes) throws {
    dataset = Dataset(records: sizes.records)
    engine = place.path + "/engine"
    sqlite = place.path + "/sqlite"
    try Engine.make(engine, dataset)
    try SQLite.make(sqlite, dataset)
  }
}
