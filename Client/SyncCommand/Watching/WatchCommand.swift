import ArgumentParser

/// A command whose answer may be watched.
protocol WatchableCommand: DaemonCommand {
  var watch: WatchOption { get }
}

/// `--watch`, for commands that show how things are now.
struct WatchOption: ParsableArguments {
  @Flag(
    name: [.customShort("w"), .customLong("watch")],
    help: "Show it again after each change, until Ctrl-C.")
  var isOn = false
}

/// What a command that watches needs of its surroundings; tests make their own.
struct WatchSurroundings: Sendable {
  /// Takes text to standard output; false where nobody reads any more.
  var write: @Sendable (String) -> Bool
  /// Rows and columns of the terminal now; nil where output goes elsewhere.
  var screen: @Sendable () -> ScreenSize?
  /// The time now, for ages.
  var style: @Sendable () -> TextStyle
  /// Yields when the person wants to stop.
  var stop: @Sendable () -> AsyncStream<Void>
  /// Yields when the terminal got another size.
  var resizes: @Sendable () -> AsyncStream<Void>
}

struct ScreenSize: Equatable, Sendable {
  var rows: Int
  var columns: Int
}
