/// Writes the model of a record from a struct: a nested `Fields` with a field for each stored property.
///
/// ```swift
/// @Record("post")
/// struct Post {
///   var headline = "untitled"
///   @Indexed var date: Date
///   @Merging var likes = 0
/// }
/// ```
///
/// The struct becomes a ``RecordStruct``. An initial value becomes the field's default. Computed and static
/// properties are left out.
///
/// - Parameter type: the name of the type in the log. It is data: the struct may be renamed, this may not.
@attached(member, names: named(Fields))
@attached(extension, conformances: RecordStruct, Decodable, Encodable, Sendable)
public macro Record(_ type: Name) = #externalMacro(module: "RecordMacroPlugin", type: "RecordMacro")

/// The name of the property's field in the log, where the property has another one.
///
/// - Parameter name: 1 to 128 bytes of UTF-8.
@attached(peer)
public macro Named(_ name: Name) = #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// The property's field had other names in the log in earlier versions of the app. They are read too, and the
/// later write shows; new writes use the new name.
@attached(peer)
public macro Formerly(_ names: Name...) = #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// The property's field has an index of its own: see `ModelIndex`.
@attached(peer)
public macro Indexed() = #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// What a property with references means while a record is deleted that it refers to.
@attached(peer)
public macro Reference(_ rule: ReferenceRule) =
  #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// Concurrent changes of the property merge, in the way of its type: `Int` and `Decimal` as a counter,
/// `String` as prose, `Set` by elements, a dictionary by keys, an array as a list.
@attached(peer)
public macro Merging() = #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// As ``Merging()``, for a counter.
///
/// - Parameter registers: the names of fields with one value, which earlier versions of the app had for the
///   number. What they have counts too. The name itself may be one of them.
@attached(peer)
public macro Merging(startingAt registers: Name...) =
  #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// As ``Merging()``, for a set.
///
/// - Parameter registers: the names of fields with an array, which earlier versions of the app had. Their
///   elements are in the set too. The name itself may be one of them.
@attached(peer)
public macro Merging(startingWith registers: Name...) =
  #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// As ``Merging()``, for a list or a map of values of a `Codable` type.
///
/// - Parameter complete: a value whose members stand in for those that a stored element does not have.
///   Without it, such an element is not shown.
@attached(peer)
public macro Merging<T: Codable>(filledBy complete: T) =
  #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")

/// The members of a list's elements merge one by one: see ``ListField/mergingMembers``. It stands beside
/// ``Merging()``.
@attached(peer)
public macro MergingMembers() = #externalMacro(module: "RecordMacroPlugin", type: "MarkerMacro")
