import ArgumentParser

/// Simulated devices, a simulated server, and what conflicts come to; see README.md beside this.
@main
struct CospoolHarness: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-harness",
    abstract: "Runs conflicts between simulated devices and checks what comes of them.",
    version: "0.1.0")
}
