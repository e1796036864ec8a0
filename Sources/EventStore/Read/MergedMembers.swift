package import OperationFormat

/// Elements of a list whose members merge one by one: a list of maps, and a map of the same name with the
/// members that were changed since their element was inserted.
///
/// An element has an identity of its own, ``identity``, which the keys of its members begin with:
/// `identity.member`. A value in the map is an array: of the member's value, or empty if the member was
/// removed.
package enum MergedMembers {
  /// The key of an element's identity.
  package static let identity: Name = "#"

  /// What the keys of an element's members begin with; nil if the element has no identity.
  package static func prefix(of element: Value) -> String? {
    guard case .map(let members) = element, case .uuid(let id)? = members[identity] else { return nil }
    return "\(id)."
  }

  /// A new element.
  package static func element(_ value: Value, identity id: UniqueID) -> Value {
    guard case .map(var members) = value else { return value }
    members[identity] = .uuid(id)
    return .map(members)
  }

  /// What elements show, without their identities.
  ///
  /// - Parameters:
  ///   - list: the elements, as they were inserted.
  ///   - entries: their members that were changed since.
  /// - Complexity: linear in both.
  package static func merge(_ list: [Value], _ entries: [Name: Value]) -> [Value] {
    var changes: [Substring: [(member: Name, value: Value)]] = [:]
    for (key, value) in entries {
      guard let dot = key.rawValue.utf8.firstIndex(of: UInt8(ascii: ".")) else { continue }
      let member = Name(String(key.rawValue[key.rawValue.utf8.index(after: dot)...]))
      changes[key.rawValue[...dot], default: []].append((member, value))
    }
    return list.map { element in
      guard case .map(var members) = element, let prefix = prefix(of: element) else { return element }
      members[identity] = nil
      for case (let member, .array(let value)) in changes[prefix[...]] ?? [] { members[member] = value.first }
      return .map(members)
    }
  }
}

extension RecordReader {
  /// What elements of a list whose members merge show: see ``MergedMembers``.
  package func withMembers(_ elements: [Value], of field: Name, in record: RecordID) throws -> [Value] {
    MergedMembers.merge(elements, try entries(of: field, in: record) ?? [:])
  }

  /// As ``withMembers(_:of:in:)``, with one element.
  ///
  /// - Complexity: linear in its members, not in the list.
  package func withMembers(_ element: Value, of field: Name, in record: RecordID) throws -> Value {
    guard let prefix = MergedMembers.prefix(of: element) else {
      return MergedMembers.merge([element], [:])[0]
    }
    return MergedMembers.merge([element], try entries(of: field, keysFrom: prefix, in: record))[0]
  }
}
