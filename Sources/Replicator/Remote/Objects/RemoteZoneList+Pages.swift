internal import OperationFormat

/// Pages of the list of zones. Each is read from the objects, from its token on.
extension RemoteZoneList {
  /// How often a page is read again if its objects are not those that were read before.
  private static let triesMax = 3

  /// Reads the events after a token.
  ///
  /// - Complexity: linear in the events of the page; also in those before it that no call of the process has
  ///   read, and, with the last page, if an event cannot be read, in those after it
  func page(after token: DatabaseToken?) async throws(RemoteError) -> ZoneEventPage {
    await hints?.begin()
    if let token { forgetOthers(than: token.remote) }
    for _ in 0..<Self.triesMax {
      let list = try await known()
      guard let page = try await page(of: list, after: token) else {
        forget(list)
        continue
      }
      let first = page.startOffset + 1
      if first <= page.token.offset {
        try await durable.wait(for: first...page.token.offset, of: .zones) { .zoneEvent($0) }
      }
      return page
    }
    throw RemoteError(
      .damaged, "the list of zones of \(name) changes while it is read",
      hint: "sync again. If that does not help, the place gives other bytes each time: check the medium")
  }

  /// Why the reading of a page ended.
  private enum PageEnd {
    /// The page has all that it may have, and there is more.
    case full
    /// The list has nothing more.
    case last
    /// The next event cannot be read.
    case unreadable
    /// The list is no longer as it was read.
    case changed
  }

  /// Reads a page; nil if the list is no longer as it was read, and is to be read from its start.
  private func page(
    of list: KnownZones, after token: DatabaseToken?
  ) async throws(RemoteError) -> ZoneEventPage? {
    let start = token ?? DatabaseToken(remote: list.remote, offset: 0, hash: .zero)
    guard start.remote == list.remote else { throw .identityMismatch(name, start.remote, list.remote) }
    defer { keep(list) }
    guard try await has(start, list) else { return nil }
    var page = ZoneEventPage(events: [], token: start, hasMore: false, startOffset: start.offset)
    let end = try await read(&page, list)
    switch end {
    case .full:
      page.hasMore = true
      return page
    case .last: try noteEnd(of: list)
    case .unreadable: try await readToEnd(list)
    case .changed: return nil
    }
    try list.read { list in
      if end == .unreadable { page.later = list.later(than: page.token.offset) }
      for offset in list.unreadable {
        guard let problem = list.problems[offset] else { continue }
        page.problems.append(ZoneListProblem(offset: offset, failure: SyncFailure(problem)))
      }
    }
    return page
  }

  /// Whether the list has a token's event, or an event that cannot be read in its place.
  ///
  /// - Returns: false if the list is no longer as it was read.
  /// - Throws: ``RemoteError`` `wentBack` if it has another event, or none.
  private func has(_ token: DatabaseToken, _ list: KnownZones) async throws(RemoteError) -> Bool {
    while list.offset < token.offset {
      guard try await readNext(of: list) else { throw wentBack(at: token.offset) }
    }
    let last = try list.read { (token: $0.token, isKnown: $0.isLastKnown) }
    if token == last.token || token.offset == 0 && token.hash == .zero { return true }
    guard token.offset > 0 else { throw wentBack(at: 0) }
    if token.offset == last.token.offset {
      if last.isKnown { throw wentBack(at: token.offset) }
      return true
    }
    guard let found = try await events.read(token.offset) else {
      forget(list)
      throw wentBack(at: token.offset)
    }
    guard try list.read({ $0.mayBe(found, at: token.offset) }) else { return false }
    if list.isUnreadable(token.offset) || found.event == nil || found.hash == token.hash { return true }
    throw wentBack(at: token.offset)
  }

  /// Reads events into a page.
  private func read(_ page: inout ZoneEventPage, _ list: KnownZones) async throws(RemoteError) -> PageEnd {
    while page.token.offset - page.startOffset < Self.pageEventsMax {
      let offset = page.token.offset + 1
      // The token never passes such an event: it may become readable.
      if list.isUnreadable(offset) { return .unreadable }
      let wasRead = offset <= list.offset
      guard let found = try await events.read(offset) else {
        guard wasRead else { return .last }
        forget(list)
        throw wentBack(at: offset)
      }
      try list.add(found, at: offset)
      if list.isUnreadable(offset) { return .unreadable }
      let (mayBe, counts) = try list.read { ($0.mayBe(found, at: offset), $0.counts(at: offset)) }
      guard mayBe else { return .changed }
      if counts, let event = found.event { page.events.append(event) }
      page.token = DatabaseToken(remote: list.remote, offset: offset, hash: found.hash)
    }
    if page.token.offset == list.offset {
      guard try await readNext(of: list) else { return .last }
    }
    return list.isUnreadable(page.token.offset + 1) ? .unreadable : .full
  }
}
