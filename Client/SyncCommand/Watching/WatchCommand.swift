import ArgumentParser

/// A command whose answer can be watched.
protocol WatchableCommand: DaemonCommand {
  var watch: WatchOption { get }
}

/// `--watch`, for commands that show the current state.
struct WatchOption: ParsableArguments {
  @Flag(
    name: [.customShort("w"), .customLong("watch")],
    help: "Show it again after each change, until Ctrl-C.")
  var isOn = false
}

/// The environment of a command that watches; tests make their own.
struct WatchSurroundings: Sendable {
  /// Writes text to standard output; false if its reader has closed it.
  var write: @Sendable (String) -> Bool
  /// Rows and columns of the terminal now; nil if the output is not a terminal.
  var screen: @Sendable () -> ScreenSize?
  /// The time now, for ages.
  var style: @Sendable () -> TextStyle
  /// Yields when the user wants to stop.
  var stop: @Sendable () -> AsyncStream<Void>
  /// Yields when the terminal's size changed.
  var resizes: @Sendable () -> AsyncStream<Void>
}

struct ScreenSize: Equatable, Sendable {
  var rows: Int
  var columns: Int
}
