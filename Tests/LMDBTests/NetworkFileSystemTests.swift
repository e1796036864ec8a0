import Testing

@testable import LMDB

@Suite("A network file system")
struct NetworkFileSystemTests {
  @Test(
    "is recognized by its number, and so is a local one",
    arguments: [
      (0x6969, true), (0x517B, true), (0xFF53_4D42, true), (0xFE53_4D42, true), (0x0102_1997, true),
      (0x5346_414F, true), (0x6B41_4653, true), (0x7375_7245, true), (0x00C3_6400, true), (0x0BD0_0BD0, true),
      (0xEF53, false), (0x5846_5342, false), (0x9123_683E, false), (0x0102_1994, false), (0x794C_7630, false),
      (0x6573_5546, false), (0x2FC1_2FC1, false), (0, false),
    ])
  func known(magic: Int, isNetwork: Bool) {
    #expect(FileSystemKind(magic: UInt32(magic)).isNetwork == isNetwork)
  }
}
