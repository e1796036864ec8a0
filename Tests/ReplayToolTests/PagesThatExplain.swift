import Testing

@testable import ReplayTool

@Suite("Pages that explain")
struct PagesThatExplain {
  static let pages: [GoldenPage] = [
    (
      "explain tells a record in short", ["explain", "shopping:milk"],
      #"""
      shopping:milk  is there

        existence        alive as item  -    ca701000  2026-01-31T09:06:40.000Z  position 4
                         alive as item  ann  3f2a1b4c  2026-01-31T09:01:02.100Z  position 2
                         alive as item  bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3
        amount     won   3              -    ca701000  2026-01-31T09:06:40.000Z  position 4
                   lost  1.5            bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3
        title      won   "Buy milk"     ann  3f2a1b4c  2026-01-31T09:01:02.100Z  position 2
                   lost  "Oat milk"     bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3

      For the whole history name a field, or give --existence.

      """#
    ),
    (
      "explain tells what won by time", ["explain", "shopping:milk", "title"],
      #"""
      shopping:milk  title

      "Buy milk" won over one value that it had not seen.
        Set by ann on replica 3f2a1b4c (this store) at 2026-01-31T09:01:02.100Z (position 2, “Rename”).
        It had seen the zone up to offset 1; it is pending: no other replica has it yet.

      Lost to it:
        "Oat milk"
          Set by bob on replica 9c1f03aa at 2026-01-31T09:01:00.000Z (position 3).
          It had seen the zone up to offset 1; it is at offset 2.
          Neither had seen the other, and its timestamp is 2.1 s earlier.

      The next write that has seen these settles it; until then the app can restore what lost (`restore`).

      Before, each seen and replaced:
        "Milk"  ann  3f2a1b4c  2026-01-31T09:00:00.000Z  position 1  replaced by position 2

      """#
    ),
    (
      "explain tells what won with a clock that was ahead", ["explain", "shopping:milk", "amount"],
      #"""
      shopping:milk  amount

      3 won over one value that it had not seen.
        Set on replica ca701000 at 2099-01-01T00:00:00.000Z (position 4).
        It had seen the zone up to offset 1; it is at offset 3.
        Its clock was ahead: the remote received it at 2026-01-31T09:01:40.000Z, so it counts as of 2026-01-31T09:06:40.000Z.

      Lost to it:
        1.5
          Set by bob on replica 9c1f03aa at 2026-01-31T09:01:00.000Z (position 3).
          It had seen the zone up to offset 1; it is at offset 2.
          Neither had seen the other, and its timestamp is 5.6 min earlier.

      The next write that has seen these settles it; until then the app can restore what lost (`restore`).

      Before, each seen and replaced:
        1  ann  3f2a1b4c  2026-01-31T09:00:00.000Z  position 1  replaced by position 3

      """#
    ),
    (
      "explain tells why a record is not there", ["explain", "shopping:bread", "--existence"],
      #"""
      shopping:bread  existence

      Deleted won over one value that it had not seen.
        Deleted by ann on replica 3f2a1b4c (this store) at 2026-01-31T09:01:02.100Z (position 2, “Rename”).
        It had seen the zone up to offset 1; it is pending: no other replica has it yet.

      The record is not there: for its type the latest of these decides.

      Lost to it:
        Alive as item
          Updated by bob on replica 9c1f03aa at 2026-01-31T09:01:00.000Z (position 3).
          It had seen the zone up to offset 1; it is at offset 2.
          Neither had seen the other, and its timestamp is 2.1 s earlier.

      The next write that has seen these settles it; until then the app can restore what lost (`restore`).

      Before, each seen and replaced:
        alive as item  ann  3f2a1b4c  2026-01-31T09:00:00.000Z  position 1  replaced by position 2

      """#
    ),
    (
      "explain tells what does not show", ["explain", "shopping:bread", "title"],
      #"""
      shopping:bread  title

      "Rye bread" stands. No concurrent change competes with it.
        Set by bob on replica 9c1f03aa at 2026-01-31T09:01:00.000Z (position 3).
        It had seen the zone up to offset 1; it is at offset 2.

      The record is deleted, so this does not show. `replay explain … --existence` says why.

      Before, each seen and replaced:
        "Bread"  ann  3f2a1b4c  2026-01-31T09:00:00.000Z  position 1  replaced by position 3

      """#
    ),
    (
      "conflicts lists losers", ["conflicts"],
      #"""
      shopping:bread  existence
        won   deleted        ann  3f2a1b4c  2026-01-31T09:01:02.100Z  position 2
        lost  alive as item  bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3

      shopping:milk  amount
        won   3    -    ca701000  2026-01-31T09:06:40.000Z  position 4
        lost  1.5  bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3

      shopping:milk  title
        won   "Buy milk"  ann  3f2a1b4c  2026-01-31T09:01:02.100Z  position 2
        lost  "Oat milk"  bob  9c1f03aa  2026-01-31T09:01:00.000Z  position 3

      """#
    ),
  ]

  @Test("the page is unchanged", arguments: pages.indices)
  func isAsEver(_ index: Int) async throws {
    let page = Self.pages[index]
    let found = try await print(page)
    #expect(found == page.text, "\(page.title)")
  }
}
