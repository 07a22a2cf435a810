package import Basics

package struct SettingRequest: APIValue {
  package static let notes = ["value": SettingAnswer.valueNote]

  package var value: JSONValue

  package init(value: JSONValue) { self.value = value }
}

/// The settings of the device.
package struct SettingsAnswer: APIValue {
  /// Where the settings are kept.
  package var file: String
  package var settings: [SettingAnswer]

  package init(file: String, settings: [SettingAnswer]) {
    self.file = file
    self.settings = settings
  }
}

/// One setting: its value in effect, and its origin. Values are numbers, switches or text.
package struct SettingAnswer: APIValue {
  package static let valueNote = Note.text("A whole number, a switch or a text.")
  package static let notes: [String: Note] = [
    "value": valueNote, "overridden": valueNote, "default": valueNote,
    "origin": .choice(["flag", "environment", "file", "default"]),
  ]

  package var name: String
  /// Absent if nothing is set and the system decides.
  package var value: JSONValue?
  /// `flag`, `environment`, `file` or `default`.
  package var origin: String
  /// The line of the file that sets it, if there is one.
  package var line: Int?
  /// The file's value, if a flag or variable overrides it.
  package var overridden: JSONValue?
  /// The default value.
  package var standard: JSONValue?
  package var environmentVariable: String
  /// Whether a change takes effect without a restart of the daemon.
  package var appliesAtOnce: Bool
  package var summary: String
  /// Why the value cannot be used now; absent if it can.
  package var warning: String?

  package enum CodingKeys: String, CodingKey {
    case name, value, origin, line, overridden
    case standard = "default"
    case environmentVariable, appliesAtOnce, summary, warning
  }

  package init(
    name: String, value: JSONValue?, origin: String, line: Int?, overridden: JSONValue?,
    standard: JSONValue?, environmentVariable: String, appliesAtOnce: Bool, summary: String
  ) {
    self.name = name
    self.value = value
    self.origin = origin
    self.line = line
    self.overridden = overridden
    self.standard = standard
    self.environmentVariable = environmentVariable
    self.appliesAtOnce = appliesAtOnce
    self.summary = summary
  }
}

/// All faults of a settings file.
package struct SettingsCheckAnswer: APIValue {
  package struct Fault: APIValue {
    package var line: Int?
    package var setting: String?
    package var reason: String
    /// All faults in one sentence.
    package var message: String

    package init(line: Int?, setting: String?, reason: String, message: String) {
      self.line = line
      self.setting = setting
      self.reason = reason
      self.message = message
    }
  }

  package var valid: Bool
  package var faults: [Fault]

  package init(faults: [Fault]) {
    valid = faults.isEmpty
    self.faults = faults
  }
}

extension JSONValue: SchemaGiven {
  static var schema: JSONValue { ["type": ["integer", "boolean", "string"]] }
  static var example: JSONValue? { .null }
}
