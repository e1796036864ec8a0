import HeapModule

/// Something that is to happen in a world.
struct SimulatedEvent: Comparable {
  /// When, in milliseconds since the world began.
  var milliseconds: Int64
  /// The order among those of one instant: that in which they were made.
  var number: Int
  /// Whose process it belongs to; nil for what goes on without it. Of a process that is over nothing happens.
  var process: SimulatedProcess?
  var body: () throws -> Void

  static func < (a: Self, b: Self) -> Bool { (a.milliseconds, a.number) < (b.milliseconds, b.number) }
  static func == (a: Self, b: Self) -> Bool { a.number == b.number }
}

/// What is to happen, by time.
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
