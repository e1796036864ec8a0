// An app imports this alone: the store, its models, sync, and values of Foundation.
@_exported public import Models
@_exported public import Replicator
