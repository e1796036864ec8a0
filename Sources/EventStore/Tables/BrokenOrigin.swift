package import OperationFormat

/// A snapshot that a zone begins with, and that is not whole here.
package struct BrokenOrigin: Sendable {
  package let zone: ZoneID
  package let incarnation: IncarnationID
  package let offset: UInt64
  package let content: ContentHash
}
