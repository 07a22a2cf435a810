import Foundation
import Operations

/// The unit under which systemd runs the server; systemd.exec(5), systemd.resource-control(5).
struct ServerUnit: Equatable {
  /// The absolute path of the server's program.
  var program: String
  /// The options of serve.
  var options: [String] = []
  var scope = Scope.system

  enum Scope: Equatable {
    /// The machine's systemd runs it under its own account.
    case system
    /// A user's systemd runs it as that user, with this data directory.
    case person(dataDirectory: String)
  }

  static let name = "cospool-server.service"
  /// The account that runs the service; its group has the same name.
  static let account = "cospool-server"
  static let dataDirectory = "/var/lib/cospool-server"
  /// The folders into which packages install units of the machine.
  static let packageFolders = ["/usr/lib/systemd/system", "/lib/systemd/system"]
  /// The administrator's options: `COSPOOL_SERVER_OPTIONS="…"`.
  static let optionsFile = "/etc/default/cospool-server"

  /// How to start the server for a data directory; nil if no service of the machine uses it. A
  /// server started by hand would lack the service's options, and would prevent the service from
  /// starting.
  static func startAdvice(for data: String) -> String? {
    let folders = ["/etc/systemd/system"] + packageFolders
    guard data == dataDirectory,
      folders.contains(where: { FileManager.default.fileExists(atPath: "\($0)/\(name)") })
    else { return nil }
    return
      "Start its service: sudo systemctl start \(name); to see why it stopped: sudo "
      + "cospool-server service logs"
  }

  /// The text of the unit file. The machine's unit uses every systemd restriction that a listening
  /// server can have, and writes to one directory.
  func text() -> String {
    let data: String
    switch scope {
    case .system: data = Self.dataDirectory
    case .person(let directory): data = directory
    }
    let words = ([program, "serve", "--data", data] + options).map(UnitText.word)
    return """
      [Unit]
      Description=Cospool server: the work queues of coding agents
      Documentation=man:cospool-server(1)
      \(scope == .system ? "Wants=network-online.target\nAfter=network-online.target\n" : "")\
      StartLimitIntervalSec=60
      StartLimitBurst=4

      [Service]
      Type=notify
      \(scope == .system ? "EnvironmentFile=-\(Self.optionsFile)\n" : "")\
      ExecStart=\(words.joined(separator: " ")) $COSPOOL_SERVER_OPTIONS
      Restart=on-failure
      RestartSec=2
      RestartPreventExitStatus=2 6
      WatchdogSec=30
      TimeoutStopSec=35
      LimitNOFILE=65536
      MemoryMax=4G
      \(scope == .system ? Self.confinement : "")\

      [Install]
      WantedBy=\(scope == .system ? "multi-user.target" : "default.target")

      """
  }

  private static let confinement = """
    User=\(account)
    Group=\(account)
    StateDirectory=cospool-server
    StateDirectoryMode=0700
    UMask=0077
    NoNewPrivileges=yes
    CapabilityBoundingSet=
    AmbientCapabilities=
    ProtectSystem=strict
    ProtectHome=yes
    PrivateTmp=yes
    PrivateDevices=yes
    PrivateUsers=yes
    DevicePolicy=closed
    ProtectKernelTunables=yes
    ProtectKernelModules=yes
    ProtectKernelLogs=yes
    ProtectControlGroups=yes
    ProtectClock=yes
    ProtectHostname=yes
    ProtectProc=invisible
    ProcSubset=pid
    RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
    RestrictNamespaces=yes
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    LockPersonality=yes
    MemoryDenyWriteExecute=yes
    RemoveIPC=yes
    SystemCallArchitectures=native
    SystemCallFilter=@system-service
    SystemCallFilter=~@privileged @resources
    SystemCallErrorNumber=EPERM

    """
}
