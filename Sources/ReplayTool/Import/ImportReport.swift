/// The result of an import.
protocol ImportReport {
  var text: String { get }
  var json: JSON { get }
  /// The assets that were left out.
  var assetFailures: AssetFailures { get }
}

extension ImportReport {
  var assetFailures: AssetFailures { AssetFailures() }
}
