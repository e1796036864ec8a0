/// How much a server does at once. What goes beyond is refused with 429 or 503 and `Retry-After`, and nothing else suffers.
public struct ServiceLimits: Sendable, Hashable {
  /// Requests of one device that write, in a second, and how many it may have saved up.
  public var writes = Rate(perSecond: 20, burst: 400)
  /// The same of requests that read.
  public var reads = Rate(perSecond: 50, burst: 1000)
  /// Bytes of bodies that are being read or answered at one time.
  public var bodyBytes = 256 << 20
  /// Streams of hints of one device, and waiting reads.
  public var streamsOfDevice = 8
  /// Streams of hints and waiting reads of all.
  public var streams = 20_000

  public struct Rate: Sendable, Hashable {
    public var perSecond: Double
    public var burst: Double

    public init(perSecond: Double, burst: Double) { (self.perSecond, self.burst) = (perSecond, burst) }
  }

  public init() {}

  /// Nothing is refused: for tests, and for a server of one program.
  public static var unlimited: ServiceLimits {
    var limits = ServiceLimits()
    (limits.writes, limits.reads) = (Rate(perSecond: 1e12, burst: 1e12), Rate(perSecond: 1e12, burst: 1e12))
    (limits.bodyBytes, limits.streamsOfDevice, limits.streams) = (.max, .max, .max)
    return limits
  }
}
