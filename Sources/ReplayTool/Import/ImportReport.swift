/// The result of an import.
protocol ImportReport {
  var text: String { get }
  var json: JSON { get }
  /// Lines below the text.
  var details: [String] { get }
  /// The assets that were left out.
  var assetFailures: AssetFailures { get }
}

extension ImportReport {
  var details: [String] { [] }
  var assetFailures: AssetFailures { AssetFailures() }
}
