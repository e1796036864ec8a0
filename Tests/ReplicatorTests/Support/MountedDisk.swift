import ChildProcesses

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A small file system as disks of other systems have it, mounted for a test.
final class MountedDisk: Sendable {
  enum Kind: String {
    /// It can neither link nor rename without replacing, and ignores case.
    case exfat
    /// It can link, ignores case, and keeps new names in lower case.
    case ntfs
  }

  let path: String

  /// Makes and mounts one; prints why, if that is not possible here.
  init?(_ kind: Kind, in directory: String) {
    let image = "\(directory)/\(kind).image"
    path = "\(directory)/\(kind)"
    mkdir(path, 0o700)
    guard geteuid() == 0 else {
      print("skipped: only root can mount \(kind)")
      return nil
    }
    let commands =
      switch kind {
      case .exfat:
        [
          "truncate -s 64M \(image)", "mkfs.exfat \(image)",
          // The device goes with the mount.
          "device=$(losetup -f --show \(image)) && mount.exfat-fuse $device \(path); code=$?; losetup -d $device; exit $code",
        ]
      case .ntfs:
        [
          "truncate -s 64M \(image)", "mkntfs -F -Q -q \(image)",
          "lowntfs-3g -o ignore_case,silent \(image) \(path)",
        ]
      }
    for command in commands where !Self.run(command) {
      print("skipped: \(kind) cannot be mounted here: \(command)")
      return nil
    }
  }

  deinit { _ = Self.run("umount -l \(path)") }

  private static func run(_ command: String) -> Bool {
    do {
      let shell = try ChildProcess(
        path: "/bin/sh", ["-c", "{ \(command); } >/dev/null 2>&1"],
        environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
      return shell.wait() == .exit(0)
    } catch {
      return false
    }
  }
}
