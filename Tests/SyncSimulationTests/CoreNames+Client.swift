import ClientCore

// Both cores have a type of these names; a file that imports both uses these.
typealias ClientConnectionID = ConnectionID
typealias ClientLogEntry = LogEntry
