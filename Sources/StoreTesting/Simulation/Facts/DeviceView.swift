import EventStore
import OperationFormat

/// What a device's store has, as it was last seen.
struct DeviceView {
  /// The end of its log.
  var last = Position.start
  var identity: StoreIdentity?
  /// Its clock, as it must be at least.
  var clock = NaiveClock()
  /// Writes that it was asked for and that were acknowledged.
  var writes = 0
  /// Operations of each transaction of its own that its log got since its writes were last looked at.
  var logged: [Int] = []
  /// The write that its last own transaction belongs to, if that wrote in several zones.
  var lastWriteID: UInt64?
  var zones: [DeviceZone] = []
  /// Bytes of all transactions that ever came into its log.
  var loggedBytes = 0
  var databaseToken: DatabaseToken?

  /// What its store has, by the models of its zones.
  var model: StoreModel {
    var model = StoreModel()
    for zone in zones { model.add(zone.facts.model, zone.view) }
    return model
  }

  func zone(_ id: ZoneID) -> DeviceZone? { zones.first { $0.facts.zone == id } }
}
