extension SimulationOptions {
  /// One workload for conflicts, two for atomicity, and one for sizes.
  public static let standardWorkloads: [any SimulationWorkload] = [
    CellWorkload(), LedgerWorkload(), RingWorkload(), EdgeWorkload(),
  ]

  /// Options of worlds with assets: bytes values of more than 40 bytes become assets.
  public static func withAssets() -> SimulationOptions {
    var options = SimulationOptions(
      workloads: [AssetWorkload(thresholdBytes: assetThresholdBytes), CellWorkload()])
    options.assetThresholdBytes = assetThresholdBytes
    return options
  }

  private static let assetThresholdBytes = 40
}
