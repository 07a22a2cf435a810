package import QueueModel

/// One event in the simulated world at one moment.
///
/// Devices are named by their index, from 0, in the order of their addition. An event that is
/// impossible at its moment, such as a command for a device that is off, is skipped. So any part of
/// a list of events is a list of events, as shrinking requires.
package enum WorldEvent: Hashable, Sendable {
  // A user or program on a device.
  case perform(device: Int, UserAction)
  /// "Connect now", as requested by a user or a change of network.
  case requestSync(device: Int)

  // A device.
  /// The process ends without warning; with `losesPower`, the machine does.
  case crash(device: Int, losesPower: Bool)
  /// The process dies in the middle of its next commit, before or after the commit counts.
  case crashAtCommit(device: Int)
  /// The process starts again with the contents of its directory.
  case restart(device: Int)
  /// The process does not run for this time; its clocks continue.
  case sleep(device: Int, milliseconds: Int64)
  /// The wall clock is set to the true time plus this.
  case setClock(device: Int, offsetMilliseconds: Int64)
  /// The result of the store's next commits.
  case setStore(device: Int, StoreCondition)
  /// Keeps a copy of the data directory, and of the memory, under a label.
  case backUp(device: Int, label: String)
  /// Replaces the device's contents with a copy, and starts the device.
  case restore(device: Int, label: String, CopyMethod)
  /// Adds a device that starts on a copy of this one's present directory.
  case clone(device: Int, CopyMethod)

  /// An event of users and agents there that decides whether its messages start.
  case atHost(device: Int, HostEvent)

  // The network.
  /// The device's connections break without a network; it gets none until the network is back.
  case disconnect(device: Int)
  case reconnect(device: Int)
  /// Breaks the connection: a part of the bytes in transit arrives, and the rest does not.
  case cut(device: Int)
  /// In these directions, nothing arrives until `heal`; connections stay.
  case partition(device: Int, PartitionDirection)
  case heal(device: Int)
  /// Everything in transit, or sent during this time, arrives when it has passed.
  case clog(device: Int, milliseconds: Int64)
  /// The connection breaks before the server's next acknowledgement arrives.
  case dropAck(device: Int)

  // The server.
  case crashServer
  /// Stops gracefully, as far as time allows, and starts again.
  case restartServer
  case backUpServer(label: String)
  case restoreServer(label: String)
  /// From now on, another server answers, which began with the same backup. The second time, the
  /// first one answers again.
  case swapServers
  case setServerClock(offsetMilliseconds: Int64)
  case setServerStore(StoreCondition)

  // Several nodes over one store.
  case atNode(Int, NodeEvent)
  /// A standby that lacks the latest commits becomes the store; the nodes continue.
  case failOver

  /// Ends every fault, waits until everything is at rest, and runs all checkers.
  case settle
}

/// A fault of one of several nodes.
package enum NodeEvent: Hashable, Sendable {
  /// The process ends without warning, and another one starts soon.
  case crash
  /// Stops gracefully, and starts again.
  case restart
  /// The process does not run for this time; tasks that it sent to the store are performed
  /// meanwhile, or afterwards.
  case pause(milliseconds: Int64)
  /// It cannot reach the store for this time. Open tasks get no answer: they are lost, performed,
  /// or performed later.
  case cutStore(milliseconds: Int64)
  /// It cannot reach another node for this time.
  case cutNode(Int, milliseconds: Int64)
  /// Its wall clock is set to the true time plus this.
  case setClock(offsetMilliseconds: Int64)
}

/// A user's action on the queues of a device.
package enum UserAction: Hashable, Sendable {
  case command(Command)
  /// Reads a message's content, to edit it later with `.opened`.
  case open(MessageID)
  /// Gives a message new content.
  case edit(MessageID, content: String, against: EditorView)
}

/// The content that the user saw before an edit.
package enum EditorView: Hashable, Sendable {
  /// The present content.
  case current
  /// The content at the last `open`; the current one if there was none.
  case opened
}

/// The result of the next commits of a store.
package enum StoreCondition: Hashable, Sendable {
  case working
  /// No space is left; nothing is stored.
  case full
  /// Writing fails; nothing is stored.
  case failing
}

/// How a copy of a device's files is used.
package enum CopyMethod: Hashable, Sendable {
  /// The database is restored; the files beside it stay.
  case database
  /// All files, as a copy of the directory or of the disk.
  case directory
  /// The running machine, memory and files, as if it was forked or restored from a snapshot while
  /// it ran. Its connections break soon. If it did not run, or has agents, only the files.
  case memory
}

/// The bytes that a partition holds back.
package enum PartitionDirection: Hashable, Sendable {
  case toServer
  case fromServer
  case both
}

/// An event and the time that passes before it.
package struct Step: Hashable, Sendable {
  /// Milliseconds since the previous step.
  package var after: Int64
  package var event: WorldEvent

  package init(after: Int64, _ event: WorldEvent) {
    self.after = after
    self.event = event
  }
}

/// The result of an event.
package enum EventOutcome: Hashable, Sendable {
  case done
  /// The command's outcome.
  case performed(CommandOutcome)
  /// The model refused the command.
  case refused(QueueError)
  /// Nothing was stored, so nothing was done.
  case notStored(String)
  /// The event was impossible at this moment.
  case skipped(String)
}

extension WorldEvent {
  /// The device that it affects, if it is one.
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
      .setServerClock, .setServerStore, .atNode, .failOver, .settle:
      nil
    }
  }

  /// Whether it is a fault.
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
