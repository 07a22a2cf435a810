import ServerCore
import Testing
import WireProtocol

/// A server that was restored to before data that devices have.
struct DivergedWorld {
  var scene: ServerScene
  /// Has the data that the server lost: its prompts "after the backup".
  var author: ScriptedDevice
  /// Has the server's data.
  var other: ScriptedDevice

  init(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
    scene = ServerScene(adjust)
    author = scene.device(1)
    other = scene.device(2)
    let id = try scene.join(&author)
    try author.write("before the backup")
    scene.send(author.changes(), on: id)
    try author.take(scene.take(id))
    scene.drop(try scene.join(&other))
    let backup = scene.storage.withState { $0 }
    try author.write("after the backup")
    scene.send(author.changes(), on: id)
    try author.write("after the backup, too")
    scene.send(author.changes(), on: id)
    try author.take(scene.take(id))
    scene.drop(id)
    scene.storage.withState { $0 = backup }
    scene.restart(scene.core.configuration)
  }

  /// Another device with the data that the server lost, and with data of its own that the server
  /// lost, too.
  ///
  /// - Parameter number: from 3 on.
  mutating func device(_ number: UInt64) throws -> ScriptedDevice {
    var device = scene.device(number)
    device.workspace = author.workspace
    device.prefix = LogPrefix(position: 9, chain: number)
    try device.write("of device \(number)")
    device.outgoing = []
    return device
  }

  static let lost: Set = ["before the backup", "after the backup", "after the backup, too"]
}
