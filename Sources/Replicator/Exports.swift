@_exported public import EventStore
