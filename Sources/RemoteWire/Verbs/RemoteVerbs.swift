/// All calls of a remote.
package let remoteVerbs: [any RemoteVerb.Type] = [
  ReadZones.self, CreateZone.self, DeleteZone.self, PurgeZone.self, ResetZone.self, ReopenZone.self,
  Append.self, ReadLog.self, PutBack.self, ReadHeads.self, Announce.self,
  ReadAssetState.self, FinishAsset.self, ReadAssetChunk.self, PutAssetChunk.self,
  ReadSnapshots.self, ReadSnapshotManifest.self, FinishSnapshot.self, ReadSnapshotPart.self,
  PutSnapshotPart.self,
  RemoveSnapshot.self, BeginLog.self, TrimLog.self,
]
