import EventStore

/// A command that works on a store.
protocol StoreCommand: ReplayCommand {
  var store: StoreOptions { get }
}

extension StoreCommand {
  var printsJSON: Bool { store.json }

  var places: HintPlaces { HintPlaces(store: store.directory) }
}
