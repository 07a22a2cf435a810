import Foundation
import Systemd

/// The unit under which systemd runs the server; systemd.exec(5), systemd.resource-control(5).
struct ServerUnit: Equatable {
  /// The server's program, absolute.
  var program: String
  /// What it is started with besides.
  var options: [String] = []
  var scope = Scope.system

  enum Scope: Equatable {
    /// The machine's systemd runs it, as an account of its own.
    case system
    /// The systemd of a person runs it as that person, with these data.
    case person(dataDirectory: String)
  }

  static let name = "cospool-server.service"
  /// The account that runs it, and its group.
  static let account = "cospool-server"
  static let dataDirectory = "/var/lib/cospool-server"
  /// Where packages put units of the machine.
  static let packageFolders = ["/usr/lib/systemd/system", "/lib/systemd/system"]
  /// Options of an administrator: `COSPOOL_SERVER_OPTIONS="…"`.
  static let optionsFile = "/etc/default/cospool-server"

  /// What an operator says to have the server of these data started: it would run without the service's options
  /// else, and keep the service from starting. nil where no service of the machine is for them.
  static func startAdvice(for data: String) -> String? {
    let folders = ["/etc/systemd/system"] + packageFolders
    guard data == dataDirectory,
      folders.contains(where: { FileManager.default.fileExists(atPath: "\($0)/\(name)") })
    else { return nil }
    return
      "Start its service: sudo systemctl start \(name); to see why it stopped: sudo "
      + "cospool-server service logs"
  }

  /// The file's text. Of systemd's means of confining a service the machine's unit takes all that a server
  /// which listens, and writes to one directory, can have.
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
