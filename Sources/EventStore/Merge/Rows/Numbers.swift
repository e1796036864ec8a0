package import OperationFormat

/// A small number that stands for an identity inside one store. Numbers are given out in order from 1 and
/// never leave the store; 0 stands for none.
package struct Number<Identity>: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static var none: Self { Self(rawValue: 0) }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package typealias ReplicaNumber = Number<ReplicaID>
package typealias IncarnationNumber = Number<IncarnationID>
/// The number of the name of a type or a field.
package typealias NameNumber = Number<Name>
/// What a zone's log, places and token are kept under, for good.
package typealias ZoneNumber = Number<ZoneID>
/// The number of one fold of a zone: what its records and elements are kept under. A rebuild folds into a new
/// one and then lets the zone point to it.
package typealias StateNumber = Number<ZoneState>

/// One fold of a zone. It has no instances: it tells its numbers from those of other things.
package enum ZoneState {}

/// A transaction's base, in numbers.
package typealias BaseNumbers = (incarnation: IncarnationNumber, offset: UInt64)

/// The last transaction that a lane has of another one, which it continues, in numbers.
package typealias LaneParent = (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)

/// One replica's transactions of one epoch in one zone.
struct Lane: Hashable {
  var zone: ZoneNumber
  var replica: ReplicaNumber
  var epoch: UInt32
}
