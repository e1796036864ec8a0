import EventStore

package struct UnpackedSegment {
  package var header: SegmentHeader
  package var transactions: [[UInt8]]
}
package enum SegmentPacker {
  package static func pack(_ cut: SegmentCut) throws -> PackedSegment { fatalError() }
  package static func unpack(_ bytes: [UInt8]) throws(FormatError) -> UnpackedSegment { fatalError() }
}
