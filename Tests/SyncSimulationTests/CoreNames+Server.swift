import ServerCore

// Both cores have a type of this name; a file that imports both uses this.
typealias ServerConnectionID = ConnectionID
