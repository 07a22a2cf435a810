public import QueueModel
public import SequenceCRDT

/// What a command did on this device.
public struct CommandReceipt: Hashable, Sendable {
  /// What to tell the person.
  public var notice: CommandOutcome.Notice
  /// The operations it made, for `QueueClient.changeState`; nil if it changed nothing.
  public var operations: OperationRange?
  /// The number of the change, for `QueueClient.undo(change:skip:)`; of an undo, for `redo(change:)`. Nil if
  /// there is nothing to take back.
  public var change: Int64?
}

/// How far a change has come.
public enum ChangeState: Hashable, Sendable {
  /// It is durable here.
  case onThisDevice
  /// It is durable at the server.
  case onServer
  /// It is durable at the server and on these other devices.
  case seen(by: [DeviceView])
}
