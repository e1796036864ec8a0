// An app that embeds the store imports it alone: names, values and transactions come with it.
@_exported public import OperationFormat
