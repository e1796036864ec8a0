import Stores

/// Stores that hold all records, made once; each turn begins with a copy.
struct Bases {
  let dataset: Dataset
  let engine: String
  let sqlite: String

  init(_ place: Place, _ sizes: Sizes) throws {
    dataset = Dataset(records: sizes.records)
    engine = place.path + "/engine"
    sqlite = place.path + "/sqlite"
    try Engine.make(engine, dataset)
    try SQLite.make(sqlite, dataset)
  }
}
