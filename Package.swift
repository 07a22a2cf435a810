// swift-tools-version: 6.2
import Foundation
import PackageDescription

// COSPOOL_ROOMS chooses what to build: "all" (default), "pure" (the rooms without I/O, which build
// in seconds and need no other package), or room names separated by commas. The rooms that a named
// room imports are built as well, and so are the named rooms' tests. COSPOOL_VENDOR names a folder
// with all foreign packages, as a Debian source package has them; then nothing is fetched.

/// The settings with which every room is built.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

/// One room: a target, the rooms it imports, and the foreign products it imports.
struct Room {
  enum Kind {
    case library
    case executable(product: String)
    case systemLibrary
    case test
    /// Linked with libFuzzer's entry point, so built only if it is named, with `--sanitize fuzzer`.
    case fuzzer(product: String)
  }

  var name: String
  var path: String
  var kind: Kind = .library
  var rooms: [String] = []
  var foreign: [String] = []
  var extraSettings: [SwiftSetting] = []
  /// Files next to the sources that are not built.
  var articles: [String] = []
  /// Whether the room sees declarations that are `package` in other rooms, or only the public API,
  /// like an app.
  var seesPackage = true

  var isPure: Bool { foreign.isEmpty }

  var isFuzzer: Bool { if case .fuzzer = kind { true } else { false } }
}

/// A package on GitHub, with its name.
func github(
  _ owner: String, _ name: String, _ versions: Range<Version>
) -> (package: String, dependency: Package.Dependency) {
  (name, .package(url: "https://github.com/\(owner)/\(name)", versions))
}

/// Foreign products by name, each with its package.
let foreignProducts: [String: (package: String, dependency: Package.Dependency)] = [
  "AsyncHTTPClient": github("swift-server", "async-http-client", "1.30.0"..<"2.0.0"),
  "ArgumentParser": github("apple", "swift-argument-parser", "1.8.0"..<"2.0.0"),
  "Crypto": github("apple", "swift-crypto", "4.0.0"..<"5.0.0"),
  "GRDB": github("groue", "GRDB.swift", "7.10.0"..<"8.0.0"),
  "GRDBSQLite": github("groue", "GRDB.swift", "7.10.0"..<"8.0.0"),
  "Hummingbird": github("hummingbird-project", "hummingbird", "2.20.0"..<"3.0.0"),
  "HummingbirdCore": github("hummingbird-project", "hummingbird", "2.20.0"..<"3.0.0"),
  "Logging": github("apple", "swift-log", "1.6.0"..<"2.0.0"),
  "NIOCore": github("apple", "swift-nio", "2.90.0"..<"3.0.0"),
  "NIOPosix": github("apple", "swift-nio", "2.90.0"..<"3.0.0"),
  "NIOHTTP1": github("apple", "swift-nio", "2.90.0"..<"3.0.0"),
  "NIOHTTP2": github("apple", "swift-nio-http2", "1.40.0"..<"2.0.0"),
  "NIOWebSocket": github("apple", "swift-nio", "2.90.0"..<"3.0.0"),
  "NIOSSL": github("apple", "swift-nio-ssl", "2.30.0"..<"3.0.0"),
  "ServiceLifecycle": github("swift-server", "swift-service-lifecycle", "2.13.0"..<"3.0.0"),
  "Subprocess": github("swiftlang", "swift-subprocess", "1.0.0"..<"2.0.0"),
  "SystemPackage": github("apple", "swift-system", "1.5.0"..<"2.0.0"),
  "UnixSignals": github("swift-server", "swift-service-lifecycle", "2.13.0"..<"3.0.0"),
]

let rooms: [Room] = [
  // Sources
  Room(name: "Platform", path: "Sources/Platform", articles: ["README.md"]),
  Room(name: "Basics", path: "Sources/Basics", articles: ["README.md"]),
  Room(
    name: "CommandArguments", path: "Sources/CommandArguments", rooms: ["Basics"],
    foreign: ["ArgumentParser"], articles: ["README.md"]),
  Room(
    name: "SequenceCRDT", path: "Sources/SequenceCRDT", extraSettings: [.strictMemorySafety()],
    articles: ["README.md"]),
  Room(
    name: "QueueModel", path: "Sources/QueueModel", rooms: ["Basics", "SequenceCRDT"],
    articles: ["README.md"]),
  Room(
    name: "QueueOracle", path: "Sources/QueueOracle", rooms: ["SequenceCRDT", "QueueModel"],
    articles: ["README.md"]),
  Room(name: "AgentFormats", path: "Sources/AgentFormats", articles: ["README.md"]),
  Room(name: "ProcessResources", path: "Sources/ProcessResources", articles: ["README.md"]),
  Room(name: "Systemd", path: "Sources/Systemd", articles: ["README.md"]),
  Room(
    name: "Observability", path: "Sources/Observability", foreign: ["Logging"],
    articles: ["README.md"]),
  Room(
    name: "SQLiteAccess", path: "Sources/SQLiteAccess", foreign: ["GRDB", "GRDBSQLite"],
    articles: ["README.md"]),
  Room(
    name: "Operations", path: "Sources/Operations", rooms: ["Platform", "Basics", "ProxyTunnel"],
    foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL"], articles: ["README.md"]),
  // Protocol
  Room(name: "CZlib", path: "Protocol/CZlib", kind: .systemLibrary),
  Room(
    name: "DeltaCodec", path: "Protocol/DeltaCodec", rooms: ["SequenceCRDT", "QueueModel"],
    articles: ["README.md"]),
  Room(
    name: "WireProtocol", path: "Protocol/WireProtocol",
    rooms: ["SequenceCRDT", "QueueModel", "DeltaCodec", "CZlib"], articles: ["README.md"]),
  Room(
    name: "LocalAPI", path: "Protocol/LocalAPI", rooms: ["Basics", "QueueModel"],
    articles: ["README.md"]),
  Room(
    name: "PushNotices", path: "Protocol/PushNotices", rooms: ["Basics"], articles: ["README.md"]),
  Room(name: "NetworkAddresses", path: "Protocol/NetworkAddresses", articles: ["README.md"]),
  Room(
    name: "ProxyTunnel", path: "Sources/ProxyTunnel", rooms: ["NetworkAddresses"],
    foreign: ["NIOCore"], articles: ["README.md"]),
  Room(
    name: "DispatchAuthority", path: "Sources/DispatchAuthority",
    rooms: ["SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol"], articles: ["README.md"]),
  // Server
  Room(
    name: "ServerCore", path: "Server/ServerCore",
    rooms: [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority",
      "NetworkAddresses",
    ],
    articles: ["README.md"]),
  Room(
    name: "ServerStore", path: "Server/ServerStore",
    rooms: [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ServerCore",
      "SQLiteAccess", "ProcessResources",
    ],
    foreign: ["GRDB"], articles: ["README.md"]),
  Room(
    name: "PushDelivery", path: "Server/PushDelivery",
    rooms: ["Basics", "PushNotices", "NetworkAddresses"],
    foreign: ["AsyncHTTPClient", "Crypto", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL"],
    articles: ["README.md", "SETTING-UP.md", "PRIVACY.md"]),
  Room(
    name: "SyncServer", path: "Server/SyncServer",
    rooms: [
      "Basics", "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "PushNotices",
      "NetworkAddresses",
      "Operations", "ServerCore", "ServerStore", "PushDelivery", "ProcessResources",
      "Observability", "Systemd",
    ],
    foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "Crypto"],
    articles: ["README.md"]),
  Room(
    name: "SyncServerCommand", path: "Server/SyncServerCommand",
    kind: .executable(product: "cospool-server"),
    rooms: [
      "Basics", "CommandArguments", "QueueModel", "NetworkAddresses", "Operations", "ServerCore",
      "SyncServer", "ProcessResources", "Observability", "Systemd",
    ],
    foreign: ["ArgumentParser", "ServiceLifecycle", "UnixSignals", "Logging"]),
  // Client
  Room(
    name: "ClientCore", path: "Client/ClientCore",
    rooms: ["SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority"],
    articles: ["README.md"]),
  Room(
    name: "SyncSimulation", path: "Sources/SyncSimulation",
    rooms: [
      "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol",
      "DispatchAuthority", "ServerCore", "ClientCore",
    ],
    articles: ["README.md"]),
  Room(
    name: "ClientStore", path: "Client/ClientStore",
    rooms: [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ClientCore",
      "SQLiteAccess", "ProcessResources",
    ],
    foreign: ["GRDB"], articles: ["README.md"]),
  Room(
    name: "OutgoingMessages", path: "Client/OutgoingMessages",
    rooms: ["QueueModel", "ClientCore", "ClientStore"], foreign: ["Logging"],
    articles: ["README.md"]),
  Room(
    name: "SyncClient", path: "Client/SyncClient",
    rooms: [
      "Basics", "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "NetworkAddresses",
      "ProxyTunnel", "ClientCore", "ClientStore", "ProcessResources",
    ],
    foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "Crypto"],
    articles: ["README.md"]),
  Room(
    name: "SyncDaemon", path: "Client/SyncDaemon", kind: .executable(product: "cospoold"),
    rooms: [
      "Basics", "CommandArguments", "LocalAPI", "PushNotices", "AgentFormats", "QueueModel",
      "SyncClient", "ProcessResources", "Observability", "Systemd",
    ],
    foreign: [
      "ArgumentParser", "Crypto", "Hummingbird", "HummingbirdCore", "ServiceLifecycle", "Logging",
      "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "Subprocess", "SystemPackage",
    ],
    articles: ["README.md", "HOOKING-UP.md", "RUNNING.md"]),
  Room(
    name: "SyncCommand", path: "Client/SyncCommand", kind: .executable(product: "cospool"),
    rooms: [
      "Platform", "Basics", "CommandArguments", "LocalAPI", "PushNotices", "ProxyTunnel",
      "Operations", "AgentFormats", "QueueModel", "Systemd",
    ],
    foreign: ["ArgumentParser", "NIOCore", "NIOPosix", "NIOHTTP1"],
    articles: ["README.md"]),
  Room(
    name: "MergeHarness", path: "Sources/MergeHarness",
    kind: .executable(product: "cospool-harness"),
    rooms: [
      "Basics", "CommandArguments", "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec",
      "WireProtocol", "ServerCore", "ClientCore", "SyncSimulation",
    ],
    foreign: ["ArgumentParser"], articles: ["README.md"]),
  // Tests
  Room(
    name: "SyncTestSupport", path: "Tests/SyncTestSupport",
    rooms: ["SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol"]),
  Room(
    name: "PushTestSupport", path: "Tests/PushTestSupport",
    foreign: ["Crypto", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOHTTP2", "NIOSSL"]),
  Room(
    name: "Benchmarks", path: "Tests/Benchmarks", kind: .executable(product: "cospool-bench"),
    rooms: [
      "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol", "CZlib",
      "ServerCore", "ServerStore", "SyncServer", "ClientCore", "ClientStore", "SyncTestSupport",
    ],
    foreign: ["ArgumentParser", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"],
    articles: ["Peers", "RESULTS.md"]),
  Room(
    name: "Fuzzing", path: "Tests/Fuzzing",
    rooms: [
      "Basics", "AgentFormats", "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec",
      "WireProtocol", "LocalAPI", "NetworkAddresses", "ServerCore", "SyncTestSupport",
    ],
    articles: ["README.md", "Corpus", "Failures"]),
  Room(
    name: "FuzzRunner", path: "Tests/FuzzRunner", kind: .fuzzer(product: "cospool-fuzz"),
    rooms: ["Fuzzing"]),
  Room(
    name: "HostilePeers", path: "Tests/HostilePeers", kind: .executable(product: "cospool-hostile"),
    rooms: ["SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol"],
    foreign: ["ArgumentParser"]),
  Room(
    name: "Consumer", path: "Tests/Consumer/Sources",
    kind: .executable(product: "cospool-consumer"),
    rooms: ["QueueModel", "OutgoingMessages", "SyncClient"], foreign: ["Logging"],
    seesPackage: false),
  test("HostilePeersTests", ["HostilePeers", "SyncServerCommand"]),
  test(
    "FuzzingTests",
    [
      "Basics", "AgentFormats", "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec",
      "WireProtocol", "LocalAPI", "NetworkAddresses", "ServerCore", "SyncTestSupport", "Fuzzing",
    ]),
  test("BasicsTests", ["Basics"]),
  test("CommandArgumentsTests", ["CommandArguments", "QueueOracle"], foreign: ["ArgumentParser"]),
  test("LocalAPITests", ["Basics", "LocalAPI", "QueueModel"]),
  test("AgentFormatsTests", ["AgentFormats", "QueueOracle", "SyncTestSupport"]),
  test("SequenceCRDTTests", ["SequenceCRDT", "QueueModel", "SyncTestSupport"]),
  test(
    "QueueModelTests",
    ["SequenceCRDT", "QueueModel", "QueueOracle", "SyncTestSupport", "DeltaCodec"]),
  test("DeltaCodecTests", ["SequenceCRDT", "QueueModel", "DeltaCodec", "SyncTestSupport"]),
  test(
    "WireProtocolTests",
    ["SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "CZlib", "SyncTestSupport"]),
  test(
    "DispatchAuthorityTests",
    ["SequenceCRDT", "QueueModel", "WireProtocol", "DispatchAuthority", "SyncTestSupport"]),
  test(
    "ServerCoreTests",
    [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ServerCore",
      "SyncTestSupport",
    ]),
  test("PushNoticesTests", ["PushNotices", "SyncTestSupport"]),
  test("NetworkAddressesTests", ["NetworkAddresses"]),
  test("ProxyTunnelTests", ["ProxyTunnel"]),
  test("OperationsTests", ["Operations"]),
  test(
    "PushDeliveryTests", ["PushNotices", "NetworkAddresses", "PushDelivery", "PushTestSupport"],
    foreign: ["Crypto", "Logging", "NIOCore", "NIOPosix"]),
  test(
    "SyncSimulationTests",
    [
      "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol",
      "DispatchAuthority", "ServerCore", "ClientCore", "SyncSimulation", "SyncTestSupport",
    ]),
  test("ProcessResourcesTests", ["ProcessResources"]),
  test("ObservabilityTests", ["Observability"], foreign: ["Logging"]),
  test("SystemdTests", ["Systemd"]),
  test("SQLiteAccessTests", ["SQLiteAccess"], foreign: ["GRDB"]),
  test(
    "ServerStoreTests",
    [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ServerCore",
      "ServerStore", "ProcessResources",
    ],
    foreign: ["GRDB"]),
  test(
    "SyncServerTests",
    [
      "Basics", "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "PushNotices",
      "NetworkAddresses", "Operations", "ServerCore", "ServerStore", "PushDelivery", "SyncServer",
      "SyncClient",
      "SyncTestSupport", "PushTestSupport", "Observability", "ProcessResources",
    ],
    foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "Crypto"],
    articles: ["Certificates"]),
  test(
    "ClientCoreTests",
    [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ClientCore",
      "SyncTestSupport",
    ]),
  test(
    "ClientStoreTests",
    [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "DispatchAuthority", "ClientCore",
      "ClientStore",
    ],
    foreign: ["GRDB"]),
  test("OutgoingMessagesTests", ["QueueModel", "OutgoingMessages"], foreign: ["Logging"]),
  test(
    "SyncClientTests",
    [
      "SequenceCRDT", "QueueModel", "DeltaCodec", "WireProtocol", "ClientCore", "ClientStore",
      "SyncClient", "SyncTestSupport",
    ],
    foreign: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "Logging"]),
  test(
    "SyncDaemonTests",
    [
      "Basics", "LocalAPI", "AgentFormats", "QueueModel", "SyncClient", "Observability",
      "SyncDaemon",
      "CZlib",
    ],
    foreign: [
      "ArgumentParser", "Crypto", "Hummingbird", "HummingbirdCore", "Logging", "NIOCore",
      "NIOHTTP1", "NIOPosix", "NIOSSL", "SystemPackage",
    ]),
  test(
    "SyncCommandTests",
    [
      "Basics", "CommandArguments", "LocalAPI", "Operations", "AgentFormats", "QueueModel",
      "QueueOracle", "SyncClient", "SyncDaemon", "SyncCommand", "PushTestSupport",
    ],
    foreign: ["ArgumentParser", "Logging", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOSSL"]),
  test(
    "MergeHarnessTests",
    [
      "Basics", "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol",
      "ServerCore", "ClientCore", "SyncSimulation", "MergeHarness", "SyncTestSupport",
    ],
    foreign: ["ArgumentParser"]),
  test(
    "StoreCrashTests",
    [
      "SequenceCRDT", "QueueModel", "QueueOracle", "DeltaCodec", "WireProtocol", "ServerCore",
      "ServerStore", "ClientCore", "ClientStore", "SyncTestSupport",
    ],
    foreign: ["GRDB", "GRDBSQLite"], articles: ["README.md"]),
  test(
    "BenchmarksTests", ["SequenceCRDT", "QueueModel", "CZlib", "Benchmarks", "SyncServerCommand"],
    foreign: ["ArgumentParser", "NIOCore"]),
  test("TidyTests", []),
  test(
    "EndToEndTests",
    [
      "SequenceCRDT", "LocalAPI", "AgentFormats", "QueueModel", "WireProtocol", "SyncServerCommand",
      "SyncDaemon", "SyncCommand", "Consumer", "PushTestSupport",
    ],
    foreign: ["GRDB", "NIOCore", "NIOPosix"]),
]

func test(
  _ name: String, _ rooms: [String], foreign: [String] = [], articles: [String] = []
) -> Room {
  Room(
    name: name, path: "Tests/\(name)", kind: .test, rooms: rooms, foreign: foreign,
    articles: articles)
}

let roomsByName = Dictionary(uniqueKeysWithValues: rooms.map { ($0.name, $0) })

/// The names of a room and of all rooms that it imports, directly or not.
@MainActor func closure(of name: String) -> Set<String> {
  guard let room = roomsByName[name] else {
    fatalError("COSPOOL_ROOMS names \(name), which is not a room of this package")
  }
  return room.rooms.reduce(into: [name]) { $0.formUnion(closure(of: $1)) }
}

@MainActor func isPure(_ name: String) -> Bool {
  closure(of: name).allSatisfy { roomsByName[$0]?.foreign.isEmpty ?? false }
}

@MainActor func chosenRooms() -> [Room] {
  switch Context.environment["COSPOOL_ROOMS"] ?? "all" {
  case "all", "":
    return rooms.filter { !$0.isFuzzer }
  case "pure":
    return rooms.filter { isPure($0.name) && !$0.isFuzzer }
  case let list:
    let named = Set(list.split(separator: ",").map(String.init))
    var chosen = named.reduce(into: Set<String>()) { $0.formUnion(closure(of: $1)) }
    for name in named where roomsByName[name + "Tests"] != nil {
      chosen.formUnion(closure(of: name + "Tests"))
    }
    return rooms.filter { chosen.contains($0.name) }
  }
}

/// COSPOOL_OPTIMISED=1 makes debug builds optimise the rooms that the simulation runs, and keep their
/// assertions: building them takes three times as long, their tests a quarter of the time. This
/// happens only on request, because no package can depend on one with such flags.
@MainActor func optimisation(of room: Room) -> [SwiftSetting] {
  guard Context.environment["COSPOOL_OPTIMISED"] == "1", case .library = room.kind,
    closure(of: "SyncSimulation").contains(room.name)
  else { return [] }
  return [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
}

@MainActor func target(for room: Room) -> Target {
  let dependencies =
    room.rooms.map { Target.Dependency.byName(name: $0) }
    + room.foreign.map { product in
      guard let foreign = foreignProducts[product] else { fatalError("unknown product \(product)") }
      return .product(name: product, package: foreign.package)
    }
  let swiftSettings = settings + room.extraSettings + optimisation(of: room)
  switch room.kind {
  case .library:
    return .target(
      name: room.name, dependencies: dependencies, path: room.path,
      exclude: room.articles, swiftSettings: swiftSettings)
  case .executable:
    return .executableTarget(
      name: room.name, dependencies: dependencies, path: room.path,
      exclude: room.articles, packageAccess: room.seesPackage, swiftSettings: swiftSettings)
  case .fuzzer:
    return .executableTarget(
      name: room.name, dependencies: dependencies, path: room.path,
      exclude: room.articles, swiftSettings: swiftSettings + [.unsafeFlags(["-parse-as-library"])])
  case .systemLibrary:
    return .systemLibrary(
      name: room.name, path: room.path, pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])])
  case .test:
    return .testTarget(
      name: room.name, dependencies: dependencies, path: room.path,
      exclude: room.articles, swiftSettings: swiftSettings)
  }
}

let chosen = chosenRooms()

var dependencies: [String: Package.Dependency] = [:]
for product in Set(chosen.flatMap(\.foreign)) {
  guard let foreign = foreignProducts[product] else { continue }
  dependencies[foreign.package] = foreign.dependency
}

/// All packages of a folder, including those that only other packages need: a package at a path
/// replaces one of the same name.
@MainActor func vendored() -> [Package.Dependency]? {
  guard let folder = Context.environment["COSPOOL_VENDOR"], !dependencies.isEmpty else {
    return nil
  }
  let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  return names.sorted()
    .filter { FileManager.default.fileExists(atPath: "\(folder)/\($0)/Package.swift") }
    .map { .package(path: "\(folder)/\($0)") }
}

let package = Package(
  name: "cospool",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: chosen.compactMap { room in
    switch room.kind {
    case .executable(let product), .fuzzer(let product):
      .executable(name: product, targets: [room.name])
    case .library where !room.path.hasPrefix("Tests/"):
      .library(name: room.name, targets: [room.name])
    default: nil
    }
  },
  dependencies: vendored() ?? dependencies.keys.sorted().compactMap { dependencies[$0] },
  targets: chosen.map(target(for:))
)
