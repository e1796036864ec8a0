public import EventStore
public import OperationFormat

/// What the devices of a simulated world write, and what every reader must find at any time.
///
/// The world creates the zones and calls ``write(_:_:)`` on its devices. After every step that changed a
/// store it calls ``check(_:)`` there. The world itself checks that the state of every device is the fold of
/// what was written.
public protocol SimulationWorkload: Sendable {
  /// Its name in traces.
  var name: String { get }
  /// The zones that it writes to, in one write or several.
  var zones: [ZoneID] { get }
  /// Whether losers of conflicts in its zones may be restored, one field at a time.
  var allowsRestoring: Bool { get }
  /// Makes one write. Everything that it decides must come from the choices and from what it reads, so that a
  /// seed repeats it; few records and fields make more collisions.
  ///
  /// - Throws: what the transaction throws: a record that is missing or there already ends the write, any
  ///   other `StoreError` that no fault explains is a failure. Errors of the app's own end the write without
  ///   one, as in an app. A world in which none of many writes is committed fails.
  func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws
  /// Checks what holds in every snapshot of a store that has the workload's zones.
  ///
  /// A newer version may write records of types of its own to any zone: check those of yours.
  ///
  /// - Throws: ``SimulationFailure`` with ``SimulationFailure/Invariant/workloadHolds`` for what does not
  ///   hold.
  func check(_ transaction: borrowing ReadTransaction) throws
}

extension SimulationWorkload {
  public var allowsRestoring: Bool { false }
  public func check(_ transaction: borrowing ReadTransaction) throws {}
}
