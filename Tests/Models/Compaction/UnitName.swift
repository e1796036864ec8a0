/// The name of a unit of a text: who inserted it, and how many of that writer's insertions into the text came
/// before it. No operation carries it: each store counts.
struct UnitName: Hashable {
  let writer: Int
  let number: Int
}
