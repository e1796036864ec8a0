import EventStore
import Foundation
import Models
import Stores

/// Repeats one operation, for a tool that counts instructions. The difference of two runs gives the cost of
/// one repetition.
@main
struct Instructions {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let times = Int(arguments[2]) else {
      print(
        "usage: Instructions commit-SIZE|typed-SIZE|indexed-SIZE|field|row|record|scan|view|passed|found|counted|built TIMES DIRECTORY"
      )
      exit(64)
    }
    let place = Place(path: arguments[3]).inner()
    defer { place.remove() }
    let dataset = Dataset(records: 2000)
    try Engine.make(place.path + "/engine", dataset)
    let engine = try Engine(place.path + "/engine", dataset)
    let parts = arguments[1].split(separator: "-")
    switch parts[0] {
    case "commit":
      let size = Int(parts[1])!
      let steps = Engine.steps(dataset.changes(size * times, seed: 3), dataset)
      try engine.commit(steps[...], each: size)
    case "indexed":
      let size = Int(parts[1])!
      try engine.index()
      let steps = Engine.steps(dataset.changes(size * times, seed: 3), dataset)
      try engine.commit(steps[...], each: size)
    case "built":
      for _ in 0..<times / dataset.names.count {
        try engine.index()
        let names = Engine.indexes.map { Name($0.0) }
        try engine.store.declareIndexesBlockingThisThread([], removing: names)
      }
    case "found", "counted":
      try engine.index()
      let starts = dataset.changes(times, seed: 5).map { String($0.value.prefix(2)) }
      var found = 0
      try engine.store.read { tx in
        for start in starts {
          if parts[0] == "found" {
            found += try tx.fetch(Item.where { $0.field0 >= start }.sorted(by: \.field0).limit(20)).count
          } else {
            found += try tx.count(Item.where { $0.field0.hasPrefix(String(start.prefix(1))) })
          }
        }
      }
      precondition(found > 0)
    case "passed":
      // Without an index all records are read for each query.
      let query = Item.where { $0.field0 > "m" && $0.field1.hasPrefix("b") }
      var found = 0
      try engine.store.read { tx in
        for _ in 0..<times / dataset.names.count { found += try tx.fetch(query).count }
      }
      precondition(found > 0)
    case "typed":
      let size = Int(parts[1])!
      let steps = Engine.steps(dataset.changes(size * times, seed: 3), dataset)
      for start in stride(from: 0, to: steps.count, by: size) {
        try engine.store.writeBlockingThisThread { tx in
          for step in steps[start..<start + size] { Item.set(step, &tx) }
        }
      }
    case "row":
      let reads = dataset.changes(times, seed: 5)
      try engine.store.read { tx in
        for read in reads { _ = try tx.fetch(Ref<Item>(dataset.ids[read.record])) }
      }
    case "field":
      let reads = dataset.changes(times, seed: 5)
      try engine.store.read { tx in
        for read in reads { _ = try tx.value(of: Dataset.fields[read.field], in: dataset.ids[read.record]) }
      }
    case "record":
      let reads = dataset.changes(times, seed: 5)
      try engine.store.read { tx in for read in reads { _ = try tx.record(dataset.ids[read.record]) } }
    case "scan":
      var left = times
      try engine.store.read { tx in
        while left > 0 {
          try tx.forEachRecord(in: Dataset.zone) { _ in
            left -= 1
            return left > 0
          }
        }
      }
    case "view":
      var left = times
      var sum: UInt64 = 0
      try engine.store.read { tx in
        while left > 0 {
          try tx.scan(Dataset.zone) { record in
            sum &+= try Engine.weight(record)
            left -= 1
            return left > 0
          }
        }
      }
      precondition(sum != 0)
    default:
      print("there is no \(arguments[1])")
      exit(64)
    }
  }
}
