// swift-tools-version: 6.2
import PackageDescription

// An app as another developer would write it: it uses only the products of Cospool.
let package = Package(
  name: "consumer",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [
    .package(name: "cospool", path: "../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    .executableTarget(
      name: "OutsideApp",
      dependencies: [
        .product(name: "SyncClient", package: "cospool"),
        .product(name: "OutgoingMessages", package: "cospool"),
        .product(name: "QueueModel", package: "cospool"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources")
  ]
)
