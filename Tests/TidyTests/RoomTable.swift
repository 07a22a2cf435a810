/// The rule: the allowed imports of each room. ARCHITECTURE.md shows this table.
///
/// A room may import the rooms named here, the modules of its foreign products, and those in
/// `system`. Nothing else is allowed; the direction of the arrows is the design.
struct RoomRule: Equatable {
  var name: String
  var folder: String
  var rooms: Set<String> = []
  var foreign: Set<String> = []
  /// Modules of the toolchain and the operating system.
  var system: Set<String> = []
  var mayHoldSQL = false
}

enum RoomTable {
  private static let model: Set<String> = ["SequenceCRDT", "QueueModel"]
  private static let codec = model.union(["DeltaCodec"])
  private static let wire = codec.union(["WireProtocol"])
  private static let platform: Set<String> = [
    "Foundation", "FoundationEssentials", "Synchronization", "Dispatch", "Glibc", "Musl", "Darwin",
  ]

  static let rules: [RoomRule] = [
    RoomRule(name: "Platform", folder: "Sources/Platform", system: platform),
    RoomRule(name: "Basics", folder: "Sources/Basics"),
    RoomRule(
      name: "CommandArguments", folder: "Sources/CommandArguments", rooms: ["Basics"],
      foreign: ["ArgumentParser"]),
    RoomRule(name: "SequenceCRDT", folder: "Sources/SequenceCRDT"),
    RoomRule(name: "QueueModel", folder: "Sources/QueueModel", rooms: ["Basics", "SequenceCRDT"]),
    RoomRule(name: "QueueOracle", folder: "Sources/QueueOracle", rooms: model),
    RoomRule(
      name: "AgentFormats", folder: "Sources/AgentFormats",
      system: ["Foundation", "FoundationEssentials"]),
    RoomRule(
      name: "ProcessResources", folder: "Sources/ProcessResources",
      system: ["Glibc", "Musl", "Darwin", "Synchronization"]),
    RoomRule(name: "Systemd", folder: "Sources/Systemd", system: ["Glibc", "Musl", "Darwin"]),
    RoomRule(
      name: "Observability", folder: "Sources/Observability", foreign: ["Logging"],
      system: platform),
    RoomRule(
      name: "SQLiteAccess", folder: "Sources/SQLiteAccess", foreign: ["GRDB", "GRDBSQLite"],
      mayHoldSQL: true),
    RoomRule(name: "NetworkAddresses", folder: "Protocol/NetworkAddresses"),
    RoomRule(
      name: "ProxyTunnel", folder: "Sources/ProxyTunnel", rooms: ["NetworkAddresses"],
      foreign: ["NIOCore"], system: ["Foundation", "FoundationEssentials"]),
    RoomRule(
      name: "Operations", folder: "Sources/Operations",
      rooms: ["Platform", "Basics", "ProxyTunnel"],
      foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL"], system: platform),
    RoomRule(name: "CZlib", folder: "Protocol/CZlib"),
    RoomRule(name: "DeltaCodec", folder: "Protocol/DeltaCodec", rooms: model),
    RoomRule(
      name: "WireProtocol", folder: "Protocol/WireProtocol", rooms: codec.union(["CZlib"])),
    RoomRule(name: "LocalAPI", folder: "Protocol/LocalAPI", rooms: ["Basics", "QueueModel"]),
    RoomRule(name: "PushNotices", folder: "Protocol/PushNotices", rooms: ["Basics"]),
    RoomRule(name: "DispatchAuthority", folder: "Sources/DispatchAuthority", rooms: wire),
    RoomRule(
      name: "ServerCore", folder: "Server/ServerCore",
      rooms: wire.union(["DispatchAuthority", "NetworkAddresses"])),
    RoomRule(
      name: "ServerStore", folder: "Server/ServerStore",
      rooms: wire.union(["DispatchAuthority", "ServerCore", "SQLiteAccess", "ProcessResources"]),
      foreign: ["GRDB"], system: platform, mayHoldSQL: true),
    RoomRule(
      name: "PushDelivery", folder: "Server/PushDelivery",
      rooms: ["Basics", "PushNotices", "NetworkAddresses"],
      foreign: [
        "AsyncHTTPClient", "Crypto", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL",
      ],
      system: platform),
    RoomRule(
      name: "SyncServer", folder: "Server/SyncServer",
      rooms: wire.union([
        "Basics", "PushNotices", "NetworkAddresses", "Operations", "ServerCore", "ServerStore",
        "PushDelivery", "ProcessResources", "Observability", "Systemd",
      ]),
      foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "Crypto"],
      system: platform),
    RoomRule(
      name: "SyncServerCommand", folder: "Server/SyncServerCommand",
      rooms: [
        "Basics", "CommandArguments", "QueueModel", "NetworkAddresses", "Operations",
        "ServerCore", "SyncServer", "ProcessResources", "Observability", "Systemd",
      ],
      foreign: ["ArgumentParser", "ServiceLifecycle", "UnixSignals", "Logging"], system: platform),
    RoomRule(
      name: "ClientCore", folder: "Client/ClientCore", rooms: wire.union(["DispatchAuthority"])),
    RoomRule(
      name: "SyncSimulation", folder: "Sources/SyncSimulation",
      rooms: wire.union(["DispatchAuthority", "QueueOracle", "ServerCore", "ClientCore"])),
    RoomRule(
      name: "ClientStore", folder: "Client/ClientStore",
      rooms: wire.union(["DispatchAuthority", "ClientCore", "SQLiteAccess", "ProcessResources"]),
      foreign: ["GRDB"], system: platform, mayHoldSQL: true),
    RoomRule(
      name: "OutgoingMessages", folder: "Client/OutgoingMessages",
      rooms: ["QueueModel", "ClientCore", "ClientStore"], foreign: ["Logging"], system: platform),
    RoomRule(
      name: "SyncClient", folder: "Client/SyncClient",
      rooms: wire.union([
        "Basics", "NetworkAddresses", "ProxyTunnel", "ClientCore", "ClientStore",
        "ProcessResources",
      ]),
      foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "Crypto"],
      system: platform),
    RoomRule(
      name: "SyncDaemon", folder: "Client/SyncDaemon",
      rooms: [
        "Basics", "CommandArguments", "LocalAPI", "PushNotices", "AgentFormats", "QueueModel",
        "SyncClient", "ProcessResources", "Observability", "Systemd",
      ],
      foreign: [
        "ArgumentParser", "Crypto", "Hummingbird", "HummingbirdCore", "ServiceLifecycle",
        "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "Subprocess", "SystemPackage",
      ],
      system: platform),
    RoomRule(
      name: "SyncCommand", folder: "Client/SyncCommand",
      rooms: [
        "Platform", "Basics", "CommandArguments", "LocalAPI", "PushNotices", "ProxyTunnel",
        "Operations", "AgentFormats", "QueueModel", "Systemd",
      ],
      foreign: ["ArgumentParser", "NIOCore", "NIOPosix", "NIOHTTP1"],
      system: platform),
    RoomRule(
      name: "MergeHarness", folder: "Sources/MergeHarness",
      rooms: wire.union([
        "Basics", "CommandArguments", "QueueOracle", "ServerCore", "ClientCore", "SyncSimulation",
      ]),
      foreign: ["ArgumentParser"], system: platform),
  ]

  /// Modules that tests may import in addition to the rooms and products of Package.swift.
  static let testSystem = platform.union(["Testing"])

  /// The only file that may import CZlib is in this room.
  static let zlibRoom = "WireProtocol"
}
