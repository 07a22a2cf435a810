package import QueueModel

/// One thing that happens to the simulated world at one moment.
///
/// Devices are named by their index, from 0, in the order in which they were added. An event that
/// makes no sense at its moment, such as a command for a device that is off, is skipped; so any
/// part of a list of events is a list of events, which shrinking relies on.
package enum WorldEvent: Hashable, Sendable {
  // A person or program on a device.
  case perform(device: Int, UserAction)
  /// "Connect now", as a person or a change of network asks for it.
  case requestSync(device: Int)

  // A device.
  /// The process ends without any warning; with `losesPower` the machine does.
  case crash(device: Int, losesPower: Bool)
  /// The process dies in the middle of its next commit, before or after the commit counts.
  case crashAtCommit(device: Int)
  /// The process starts again on what its directory holds.
  case restart(device: Int)
  /// The process is not run for so long; its clocks go on.
  case sleep(device: Int, milliseconds: Int64)
  /// The wall clock is set to true time plus this.
  case setClock(device: Int, offsetMilliseconds: Int64)
  /// What the next commits of the store come to.
  case setStore(device: Int, StoreCondition)
  /// Keeps a copy of the data directory, and of the memory, under a label.
  case backUp(device: Int, label: String)
  /// Puts a copy back in place of what the device holds, and starts the device.
  case restore(device: Int, label: String, CopyMethod)
  /// Adds a device that starts on a copy of this one's directory, as it is now.
  case clone(device: Int, CopyMethod)

  /// What people and agents there do that decides whether its messages start.
  case atHost(device: Int, HostEvent)

  // The network.
  /// Without a network the device's connections break; it gets none until it is back.
  case disconnect(device: Int)
  case reconnect(device: Int)
  /// Breaks the connection off, so that a part of what is under way arrives and the rest does not.
  case cut(device: Int)
  /// Nothing gets through in these directions until `heal`; connections stay.
  case partition(device: Int, PartitionDirection)
  case heal(device: Int)
  /// Everything under way and sent in this time arrives at its end.
  case clog(device: Int, milliseconds: Int64)
  /// The connection breaks before the server's next acknowledgement arrives.
  case dropAck(device: Int)

  // The server.
  case crashServer
  /// Stops gracefully, as far as time allows, and starts again.
  case restartServer
  case backUpServer(label: String)
  case restoreServer(label: String)
  /// Another server answers from now on, which began with the same backup; the second time, the first
  /// one does again.
  case swapServers
  case setServerClock(offsetMilliseconds: Int64)
  case setServerStore(StoreCondition)

  /// Ends every fault, lets all come to rest, and runs all checkers.
  case settle
}

/// What a person does with the queues of a device.
package enum UserAction: Hashable, Sendable {
  case command(Command)
  /// Looks at a message's content, to edit it later with `.opened`.
  case open(MessageID)
  /// Gives a message new content.
  case edit(MessageID, content: String, against: EditorView)
}

/// What the person saw who edits a message.
package enum EditorView: Hashable, Sendable {
  /// What is there now.
  case current
  /// What was there at the last `open`; what is there now where there was none.
  case opened
}

/// What a store does with the next commits.
package enum StoreCondition: Hashable, Sendable {
  case working
  /// No space is left; nothing is stored.
  case full
  /// Writing fails; nothing is stored.
  case failing
}

/// How a copy of a device's files comes to be used.
package enum CopyMethod: Hashable, Sendable {
  /// The database is put back; the files beside it stay.
  case database
  /// All files, as a copy of the directory or of the disk.
  case directory
  /// The running machine, memory and files, as one that was forked while it ran or set back to a
  /// snapshot. Its connections break soon. Where it did not run, and with agents: the files.
  case memory
}

/// Which bytes a partition holds back.
package enum PartitionDirection: Hashable, Sendable {
  case toServer
  case fromServer
  case both
}

/// An event and the time that passes before it.
package struct Step: Hashable, Sendable {
  /// Milliseconds since the step before.
  package var after: Int64
  package var event: WorldEvent

  package init(after: Int64, _ event: WorldEvent) {
    self.after = after
    self.event = event
  }
}

/// What became of an event.
package enum EventOutcome: Hashable, Sendable {
  case done
  /// The command's answer.
  case performed(CommandOutcome)
  /// The command was refused by the model.
  case refused(QueueError)
  /// Nothing was stored, and so nothing was done.
  case notStored(String)
  /// It made no sense at this moment.
  case skipped(String)
}

extension WorldEvent {
  /// The device it happens to, where it is one.
  package var device: Int? {
    switch self {
    case .perform(let device, _), .requestSync(let device), .crash(let device, _),
      .crashAtCommit(let device), .restart(let device), .sleep(let device, _),
      .setClock(let device, _), .setStore(let device, _), .backUp(let device, _),
      .restore(let device, _, _), .clone(let device, _), .disconnect(let device),
      .reconnect(let device), .cut(let device), .partition(let device, _), .heal(let device),
      .clog(let device, _), .dropAck(let device), .atHost(let device, _):
      device
    case .crashServer, .restartServer, .backUpServer, .restoreServer, .swapServers,
      .setServerClock, .setServerStore, .settle:
      nil
    }
  }

  /// Whether it makes something go wrong.
  package var isFault: Bool {
    switch self {
    case .perform, .requestSync, .restart, .backUp, .reconnect, .heal, .backUpServer, .atHost,
      .settle:
      false
    case .setStore(_, let condition), .setServerStore(let condition): condition != .working
    default: true
    }
  }
}
