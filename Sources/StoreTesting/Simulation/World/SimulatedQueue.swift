import HeapModule

/// A scheduled event of a world.
struct SimulatedEvent: Comparable {
  /// When, in milliseconds since the world began.
  var milliseconds: Int64
  /// The order among events of one instant: that in which they were scheduled.
  var number: Int
  /// The process that it belongs to; nil for none. The event is dropped once its process is over.
  var process: SimulatedProcess?
  var body: () throws -> Void

  static func < (a: Self, b: Self) -> Bool { (a.milliseconds, a.number) < (b.milliseconds, b.number) }
  static func == (a: Self, b: Self) -> Bool { a.number == b.number }
}

/// The scheduled events, by time.
struct SimulatedQueue {
  private var heap: Heap<SimulatedEvent> = []
  private var count = 0

  mutating func add(at milliseconds: Int64, _ process: SimulatedProcess?, _ body: @escaping () throws -> Void)
  {
    count += 1
    heap.insert(SimulatedEvent(milliseconds: milliseconds, number: count, process: process, body: body))
  }

  /// Takes the next event whose process still runs.
  mutating func next() -> SimulatedEvent? {
    while let event = heap.popMin() {
      if event.process?.isOver != true { return event }
    }
    return nil
  }

  /// Takes all events that belong to no process, in their order.
  mutating func takeFree() -> [SimulatedEvent] {
    let all = heap.unordered
    heap = Heap(all.filter { $0.process != nil })
    return all.filter { $0.process == nil }.sorted()
  }
}
