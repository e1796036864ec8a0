// An app that declares models imports them alone: the store comes with them.
@_exported public import EventStore
