/// The kind of a directory's file system, as Linux numbers it (statfs(2), linux/magic.h).
struct FileSystemKind: Hashable, Sendable {
  var magic: UInt32

  /// File systems on which locks or maps may differ between machines. FUSE is not one of them: most FUSE file
  /// systems are local.
  static let networkMagics: [(magic: UInt32, name: String)] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414F, "AFS (OpenAFS)"),
    (0x6B41_4653, "AFS (kAFS)"),
    (0x7375_7245, "Coda"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x564C, "NCP"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x4750_4653, "GPFS"),
    (0x2003_0528, "OrangeFS"),
    (0x1980_0202, "BeeGFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0xBACB_ACBC, "VMHGFS"),
    (0x786F_4256, "VirtualBox shared folder"),
  ]

  /// Whether it is a network file system: a store there needs the caller's permission.
  var isNetwork: Bool {
    Self.networkMagics.contains { $0.magic == magic }
  }
}
