// Queries are made of these.
@_exported public import EventStore
@_exported public import Models
