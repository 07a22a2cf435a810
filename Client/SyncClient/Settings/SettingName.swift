import QueueModel

/// The settings, by their names in the file, the local API and the command line.
public enum SettingName: String, Hashable, Sendable, CaseIterable {
  case maxQueueSize
  case queueEnabled
  case onFailure
  case agent
  case command
  case projectRoots
  case hosts
  case agentMessages
  case browserAgents
  case agentTimeout
  case agentGrace
  case onUnknown
  case approvalPatience
  case autoRemoveOnView
  case retention
  case attachmentRetention
  case attachmentQuota
  case notifyOff
  case notifyDetails
  case notifyCommand
  case notifyMeAfter
  case liveStatus
  case deviceName
  case certificate
  case web
  case webURL
  case webCertificate
  case webKey
  case logLevel

  /// The allowed days of `retention`; 0 means forever.
  public static let retentionRange = 0...3_650
  /// The default of `retention`.
  public static let retentionDefault = 90
  /// The allowed days of `attachmentRetention`.
  public static let attachmentRetentionRange = 1...3_650
  /// The default of `attachmentRetention`.
  public static let attachmentRetentionDefault = 30
  /// The allowed MiB of `attachmentQuota`.
  public static let attachmentQuotaRange = 10...1_048_576
  /// The default of `attachmentQuota`, in MiB.
  public static let attachmentQuotaDefault = 1_024

  /// The allowed seconds of `agentTimeout`; 0 means forever.
  public static let agentTimeoutRange = 0...604_800
  /// The allowed seconds of `agentGrace`.
  public static let agentGraceRange = 0...3_600
  /// The default of `agentGrace`.
  public static let agentGraceDefault = 30

  /// The allowed seconds of `approvalPatience`.
  public static let approvalPatienceRange = 1...600
  /// The default of `approvalPatience`.
  public static let approvalPatienceDefault = 60

  /// The allowed seconds of `notifyMeAfter`.
  public static let notifyMeAfterRange = 0...86_400
  /// The default of `notifyMeAfter`.
  public static let notifyMeAfterDefault = 60

  /// The settings of the page.
  public static let ofPage: Set<SettingName> = [.web, .webURL, .webCertificate, .webKey]
  /// The stand-in for the agent of the setting `agent`, in `browserAgents`.
  static let defaultAgent = "default"

  /// The type of a setting.
  public enum Kind: Hashable, Sendable {
    case number(ClosedRange<Int>)
    case flag
    case choice([String])
    /// Some of these, separated by commas.
    case names([String])
    /// Text with a maximum number of UTF-8 bytes, without control characters.
    case text(bytesMax: Int)
    /// An address with a port, or `off`.
    case address
    /// `https://HOST`, with a port or without.
    case origin
  }

  /// The type of the setting.
  public var kind: Kind {
    switch self {
    case .maxQueueSize: .number(Limits.queueSizeRange)
    case .queueEnabled, .autoRemoveOnView, .notifyDetails, .liveStatus: .flag
    case .notifyOff: .names(NotificationView.Category.allCases.map(\.rawValue) + ["none"])
    case .onFailure: .choice(FailurePolicy.allCases.map(\.rawValue))
    case .agent: .choice(AgentKind.allCases.map(\.rawValue))
    case .command, .notifyCommand, .projectRoots: .text(bytesMax: 4_096)
    case .hosts: .choice(HostPolicy.allCases.map(\.rawValue))
    case .agentMessages: .choice(AgentMessagePolicy.allCases.map(\.rawValue))
    case .browserAgents: .names([SettingName.defaultAgent] + AgentKind.allCases.map(\.rawValue))
    case .agentTimeout: .number(SettingName.agentTimeoutRange)
    case .agentGrace: .number(SettingName.agentGraceRange)
    case .onUnknown: .choice(UnknownPolicy.allCases.map(\.rawValue))
    case .approvalPatience: .number(SettingName.approvalPatienceRange)
    case .notifyMeAfter: .number(SettingName.notifyMeAfterRange)
    case .retention: .number(SettingName.retentionRange)
    case .attachmentRetention: .number(SettingName.attachmentRetentionRange)
    case .attachmentQuota: .number(SettingName.attachmentQuotaRange)
    case .deviceName: .text(bytesMax: Limits.nameBytesMax)
    case .certificate, .webCertificate, .webKey: .text(bytesMax: 4_096)
    case .web: .address
    case .webURL: .origin
    case .logLevel:
      .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"])
    }
  }

  /// The default value; nil if the system decides.
  public var standard: SettingValue? {
    switch self {
    case .maxQueueSize: .number(Limits.queueSizeDefault)
    case .queueEnabled, .autoRemoveOnView, .notifyDetails: .flag(false)
    case .liveStatus: .flag(true)
    case .notifyOff: .text("none")
    case .onFailure: .text(FailurePolicy.pause.rawValue)
    case .agent: .text(AgentKind.none.rawValue)
    case .hosts: .text(HostPolicy.own.rawValue)
    case .agentMessages: .text(AgentMessagePolicy.own.rawValue)
    case .browserAgents: .text(SettingName.defaultAgent)
    case .agentTimeout: .number(0)
    case .agentGrace: .number(SettingName.agentGraceDefault)
    case .onUnknown: .text(UnknownPolicy.ask.rawValue)
    case .approvalPatience: .number(SettingName.approvalPatienceDefault)
    case .notifyMeAfter: .number(SettingName.notifyMeAfterDefault)
    case .retention: .number(SettingName.retentionDefault)
    case .attachmentRetention: .number(SettingName.attachmentRetentionDefault)
    case .attachmentQuota: .number(SettingName.attachmentQuotaDefault)
    case .command, .notifyCommand, .projectRoots, .deviceName, .certificate, .webURL,
      .webCertificate, .webKey:
      nil
    case .web: .text(WebAddress.off)
    case .logLevel: .text("info")
    }
  }

  /// The environment variable of the setting.
  public var environmentVariable: String {
    switch self {
    case .maxQueueSize: "COSPOOL_MAX_QUEUE_SIZE"
    case .queueEnabled: "COSPOOL_QUEUE_ENABLED"
    case .onFailure: "COSPOOL_ON_FAILURE"
    case .agent: "COSPOOL_AGENT"
    case .command: "COSPOOL_COMMAND"
    case .projectRoots: "COSPOOL_PROJECT_ROOTS"
    case .hosts: "COSPOOL_HOSTS"
    case .agentMessages: "COSPOOL_AGENT_MESSAGES"
    case .browserAgents: "COSPOOL_BROWSER_AGENTS"
    case .agentTimeout: "COSPOOL_AGENT_TIMEOUT"
    case .agentGrace: "COSPOOL_AGENT_GRACE"
    case .onUnknown: "COSPOOL_ON_UNKNOWN"
    case .approvalPatience: "COSPOOL_APPROVAL_PATIENCE"
    case .autoRemoveOnView: "COSPOOL_AUTO_REMOVE_ON_VIEW"
    case .retention: "COSPOOL_RETENTION"
    case .attachmentRetention: "COSPOOL_ATTACHMENT_RETENTION"
    case .attachmentQuota: "COSPOOL_ATTACHMENT_QUOTA"
    case .notifyOff: "COSPOOL_NOTIFY_OFF"
    case .notifyDetails: "COSPOOL_NOTIFY_DETAILS"
    case .notifyCommand: "COSPOOL_NOTIFY_COMMAND"
    case .notifyMeAfter: "COSPOOL_NOTIFY_ME_AFTER"
    case .liveStatus: "COSPOOL_LIVE_STATUS"
    case .deviceName: "COSPOOL_DEVICE_NAME"
    case .certificate: "COSPOOL_CERTIFICATE"
    case .web: "COSPOOL_WEB"
    case .webURL: "COSPOOL_WEB_URL"
    case .webCertificate: "COSPOOL_WEB_CERTIFICATE"
    case .webKey: "COSPOOL_WEB_KEY"
    case .logLevel: "COSPOOL_LOG"
    }
  }

  /// Whether a change takes effect at once; the others need a restart of the daemon.
  public var appliesAtOnce: Bool {
    switch self {
    case .deviceName, .certificate, .logLevel: false
    default: true
    }
  }

  /// One line for users.
  public var summary: String {
    switch self {
    case .maxQueueSize: "number of messages that can wait in a session before Cospool refuses more"
    case .queueEnabled: "whether the thread queue is on: sending adds the thread to it"
    case .onFailure: "what a session's queue does after its agent failed"
    case .agent: "the agent that runs messages on this device"
    case .command: "the agent's command; {} is replaced by the prompt, which is otherwise on stdin"
    case .projectRoots:
      "folders in which agents may work here, separated by colons; default: anywhere"
    case .hosts:
      "which sessions run here: own, set on this device; ask, after you confirm; any, all "
        + "assigned here"
    case .agentMessages:
      "where agents that run here may queue messages: own, their session; ask, elsewhere "
        + "after you allow it; any"
    case .browserAgents:
      "agents that the page may choose for a session, separated by commas; default: the "
        + "setting agent"
    case .agentTimeout: "seconds after which a running agent is stopped; 0: never"
    case .agentGrace: "seconds that running agents have to finish when the daemon stops"
    case .onUnknown:
      "what happens to a message with an unknown outcome; retry: at most three times in a row"
    case .approvalPatience:
      "seconds that a request of an agent here waits for an answer from other devices"
    case .autoRemoveOnView: "whether viewing a thread removes it from the thread queue"
    case .retention:
      "days after which done and cancelled messages are deleted on all devices; 0: never"
    case .attachmentRetention: "days to keep attachments of messages that have left the queue"
    case .attachmentQuota: "MiB that attachments can use on this device"
    case .notifyOff: "categories of notifications that are turned off, separated by commas"
    case .notifyDetails: "whether pushes contain details instead of only the kind of event"
    case .notifyCommand: "command to run for each notification while you do not look at this device"
    case .notifyMeAfter:
      "seconds without you at any device before your own push addresses are notified"
    case .liveStatus: "whether push targets that show running tasks get their state"
    case .deviceName: "this device's name"
    case .certificate: "PEM file with root certificates to trust in addition to the system's"
    case .web: "address of the page, or off; cospool web turns it on"
    case .webURL: "https address of the page for browsers on other devices"
    case .webCertificate: "PEM file with the page's certificate, needed beyond 127.0.0.1"
    case .webKey: "PEM file with the key of the page's certificate"
    case .logLevel: "lowest level of messages that the daemon logs"
    }
  }

  /// Parses a value in the form of flags, environment variables and users' input.
  ///
  /// - Throws: `SettingFault` with the reason.
  public func value(fromText text: String) throws(SettingFault) -> SettingValue {
    switch kind {
    case .number where self == .retention && text.lowercased() == "never":
      return .number(0)
    case .number:
      guard let number = Int(text) else { throw fault("\"\(text)\" is not a whole number") }
      return try checked(.number(number))
    case .flag:
      switch text.lowercased() {
      case "on", "true", "yes", "1": return .flag(true)
      case "off", "false", "no", "0": return .flag(false)
      default: throw fault("\"\(text)\" is neither on nor off")
      }
    case .choice, .names, .text, .address, .origin:
      return try checked(.text(text))
    }
  }

  /// Returns the value, if this setting can have it.
  ///
  /// - Throws: `SettingFault` with the reason.
  public func checked(_ value: SettingValue) throws(SettingFault) -> SettingValue {
    switch (kind, value) {
    case (.number(let range), .number(let number)):
      guard range.contains(number) else {
        throw fault("\(number) is outside \(range.lowerBound) to \(range.upperBound)")
      }
    case (.flag, .flag):
      break
    case (.choice(let choices), .text(let text)):
      guard choices.contains(text) else {
        throw fault("\"\(text)\" is not one of \(choices.joined(separator: ", "))")
      }
    case (.names(let names), .text(let text)):
      let given = text.split(separator: ",").map { String($0).trimmedOfWhitespace() }
      for name in given where !names.contains(name) {
        throw fault("\"\(name)\" is not one of \(names.joined(separator: ", "))")
      }
      guard !given.isEmpty else { throw fault("it is blank; to choose none, write \"none\"") }
    case (.text(let bytesMax), .text(let text)):
      guard !text.trimmedOfWhitespace().isEmpty else { throw fault("it is blank") }
      guard text.utf8.count <= bytesMax else {
        throw fault("it is longer than \(bytesMax) bytes")
      }
      guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      else { throw fault("it contains control characters") }
    case (.address, .text(let text)):
      guard text == WebAddress.off || WebAddress(text) != nil else {
        throw fault(
          "\"\(text)\" is neither off nor a numeric address with a port, such as "
            + "127.0.0.1:\(WebAddress.portDefault)")
      }
    case (.origin, .text(let text)):
      guard WebOrigin(text) != nil else {
        throw fault("\"\(text)\" is not https:// with a name and an optional port")
      }
    case (.number(let range), _):
      throw fault("\(value) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    case (.flag, _):
      throw fault("\(value) is neither true nor false")
    case (.choice, _), (.names, _), (.text, _), (.address, _), (.origin, _):
      throw fault("\(value) is not a text")
    }
    return value
  }

  private func fault(_ reason: String) -> SettingFault {
    SettingFault(name: rawValue, reason: reason)
  }
}

/// The value of a setting.
public enum SettingValue: Hashable, Sendable {
  case number(Int)
  case flag(Bool)
  case text(String)
}

extension SettingValue: CustomStringConvertible {
  /// The value as users write it.
  public var description: String {
    switch self {
    case .number(let number): "\(number)"
    case .flag(let isOn): isOn ? "on" : "off"
    case .text(let text): text
    }
  }
}

extension SettingValue: Codable {
  /// Reads a JSON number, switch or text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Int.self) {
      self = .number(number)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  /// Writes a JSON number, switch or text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .flag(let flag): try container.encode(flag)
    case .text(let text): try container.encode(text)
    }
  }
}

/// Why a value is not valid for a setting: the setting, the place, and the fault.
public struct SettingFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The setting; nil if the fault is in the file as a whole.
  public var name: String?
  /// The fault.
  public var reason: String
  /// The flag, variable or file with the value.
  public var source: String?
  /// The line of the file, from 1.
  public var line: Int?
  /// If the file could not be written: whether the disk is full. nil if a value is wrong.
  public var isDiskFull: Bool?

  /// Creates a fault.
  public init(name: String?, reason: String, source: String? = nil, line: Int? = nil) {
    self.name = name
    self.reason = reason
    self.source = source
    self.line = line
  }

  /// `config.json, line 3: maxQueueSize: 2000 is outside 1 to 1000.`
  public var description: String {
    let place = [source, line.map { "line \($0)" }].compactMap { $0 }.joined(separator: ", ")
    return (place.isEmpty ? "" : place + ": ") + (name.map { "\($0): " } ?? "") + reason + "."
  }
}
