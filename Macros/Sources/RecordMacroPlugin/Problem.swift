import SwiftDiagnostics
import SwiftSyntax

/// What a macro cannot do. The message says what to do instead.
enum Problem {
  case notAStruct(name: String, keyword: String)
  case generic
  case codingKeys
  case conditional
  case pattern
  case untyped(String)
  case constant(String)
  case modifier(String, modifier: String)
  case wrapper(String, attribute: String)
  case conditionalAttribute(String)
  case twice(Marker)
  case notStored(String, Marker)
  case outside(Marker)
  case implicitlyUnwrapped(String, wrapped: String)
  case changing(String, type: String)
  case optionalDefault(String)
  case optionalMerging(String, wrapped: String)
  case neverMerges(String, type: String)
  case unmergedSet(String)
  case formerlyMerging(String)
  case mergingArgument(String, label: String, type: String)
  case mergingRule(String)
  case noMembers(String)
  case unindexed(String)
  case requiredReference(String, type: String)
  case noReference(String)
  case referenceDefault(String)
  case nameLength
  case nameTaken(String, owner: String)

  func at(_ node: some SyntaxProtocol) -> DiagnosticsError {
    DiagnosticsError(diagnostics: [Diagnostic(node: node, message: self)])
  }
}

extension Problem: DiagnosticMessage {
  var severity: DiagnosticSeverity { .error }

  var diagnosticID: MessageID {
    MessageID(domain: "RecordMacro", id: String("\(self)".prefix { $0.isLetter }))
  }

  var message: String {
    switch self {
    case .notAStruct(let name, let keyword):
      "'@Record' writes models of structs only: make '\(name)' a struct instead of \(keyword.withArticle)"
    case .generic:
      "'@Record' cannot write the model of a generic struct: write the type in place of the parameter"
    case .codingKeys:
      "'@Record' needs the coding keys that the compiler writes: remove 'CodingKeys', and choose stored names with '@Named'"
    case .conditional:
      "the fields of a record must be the same in each build: move the property out of '#if'"
    case .pattern:
      "'@Record' cannot write fields for a tuple: declare each property by itself"
    case .untyped(let property):
      "the initial value does not show the type of '\(property)': write it, as in 'var \(property): Int = …'"
    case .constant(let property):
      "'\(property)' cannot be read from a record: make it 'var', or 'static let' if it is not stored"
    case .modifier(let property, let modifier):
      "a record cannot have the \(modifier) property '\(property)': remove '\(modifier)', or compute its value"
    case .wrapper(let property, let attribute):
      "a record cannot have the property '\(property)' with '@\(attribute)': remove the attribute"
    case .conditionalAttribute(let property):
      "the fields of a record must be the same in each build: move the attributes of '\(property)' out of '#if'"
    case .twice(let marker):
      "'@\(marker)' stands here twice: keep one"
    case .notStored(let property, let marker):
      "'\(property)' is not stored in the record: remove '@\(marker)'"
    case .outside(let marker):
      "'@\(marker)' is for stored properties of a struct with '@Record': add '@Record' to the struct, or remove this"
    case .implicitlyUnwrapped(let property, let wrapped):
      "'\(property)' may be nil in a record: write '\(wrapped)?' instead of '\(wrapped)!'"
    case .changing(let property, let type):
      "the default of a field must always be the same: write 'var \(property): \(type)', and pass its value when you make the struct"
    case .optionalDefault(let property):
      "'\(property)' could never be nil, because an empty field shows its default: remove '?' or the initial value"
    case .optionalMerging(let property, let wrapped):
      "a field that merges is never nil: write '\(wrapped)' as the type of '\(property)'"
    case .neverMerges(let property, let type):
      "'\(type)' cannot merge: make '\(property)' an Int, a Decimal, a String, a Set, an array or a dictionary with String keys, or remove '@Merging'"
    case .unmergedSet(let property):
      "a set has no order to be stored in as one value: add '@Merging' to '\(property)', or make it an array"
    case .formerlyMerging(let property):
      "the stored name of a field that merges cannot change: remove '@Formerly', and write '@Named' with the old name of '\(property)'"
    case .mergingArgument(let property, let label, let type):
      "'\(property)' cannot take '\(label)', which is not for \(type): remove it"
    case .mergingRule(let property):
      "'@Merging' of references has no arguments: remove those of '\(property)'"
    case .noMembers(let property):
      "'@MergingMembers' is for arrays that merge: write '@Merging @MergingMembers var \(property): [Item]', or remove it"
    case .unindexed(let property):
      "'\(property)' cannot have an index of its own: remove '@Indexed'; 'static let indexes' can index the words of a text"
    case .requiredReference(let property, let type):
      "the record that '\(property)' refers to may be missing: write '\(type)?'"
    case .noReference(let property):
      "'@Reference' is for references: make '\(property)' a 'Ref<…>?', or remove the attribute"
    case .referenceDefault(let property):
      "a reference has no default: remove the initial value of '\(property)'"
    case .nameLength:
      "a stored name has 1 to 128 bytes of UTF-8: choose another one"
    case .nameTaken(let name, let owner):
      "'\(owner)' is stored as '\(name)' already: choose another name with '@Named'"
    }
  }
}

extension String {
  fileprivate var withArticle: String { ("aeiou".contains(prefix(1)) ? "an " : "a ") + self }
}
