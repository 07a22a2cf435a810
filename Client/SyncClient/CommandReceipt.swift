public import QueueModel
public import SequenceCRDT

/// The result of a command on this device.
public struct CommandReceipt: Hashable, Sendable {
  /// A notice for the user.
  public var notice: CommandOutcome.Notice
  /// The operations it made, for `QueueClient.changeState`; nil if it changed nothing.
  public var operations: OperationRange?
  /// The number of the change, for `QueueClient.undo(change:skip:)`; after an undo, for
  /// `redo(change:)`. nil if there is nothing to undo.
  public var change: Int64?
}

/// How far a change has been synced.
public enum ChangeState: Hashable, Sendable {
  /// It is durable here.
  case onThisDevice
  /// It is durable at the server.
  case onServer
  /// It is durable at the server and on these other devices.
  case seen(by: [DeviceView])
}
