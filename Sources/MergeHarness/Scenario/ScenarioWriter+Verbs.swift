import QueueModel

// The names and fields of verbs; `DeviceVerbParser` and `WorldVerbParser` read them.
extension ScenarioWriter {
  typealias Fields = [(String, ScenarioJSON)]

  static func json(of verb: DeviceVerb) -> (String, Fields) {
    switch verb {
    case .send(let send):
      return ("send", fields(of: send))
    case .edit(let message, let text, let againstOpened):
      let opened: Fields = againstOpened ? [("opened", .boolean(true))] : []
      return ("edit", [("message", .label(message))] + ScenarioJSON.fields("text", text) + opened)
    case .open(let message):
      return ("open", [("message", .label(message))])
    case .insertText(let message, let at, let text):
      return (
        "insert-text",
        [("message", .label(message)), ("at", .integer(at))] + ScenarioJSON.fields("text", text)
      )
    case .deleteText(let message, let at, let count):
      return (
        "delete-text",
        [("message", .label(message)), ("at", .integer(at)), ("count", .integer(count))]
      )
    case .move(let messages, let place):
      return ("move", [oneOrMore("message", "messages", messages), target(place)])
    case .cancel(let messages):
      return ("cancel", [oneOrMore("message", "messages", messages)])
    case .restore(let message):
      return ("restore", [("message", .label(message))])
    case .priority(let message, let priority):
      return ("priority", [("message", .label(message)), ("value", .string(priority.name))])
    case .host(let session, let number):
      return (
        "host",
        [("session", .label(session))] + (number.map { [("number", .integer($0))] } ?? [])
      )
    case .retry(let message):
      return ("retry", [("message", .label(message))])
    case .skip(let message):
      return ("skip", [("message", .label(message))])
    case .hold(let message, let time):
      return ("hold", [("message", .label(message))] + self.time(time))
    case .notBefore(let message, let time):
      return ("not-before", [("message", .label(message))] + self.time(time))
    case .later(let message, let time):
      return ("later", [("message", .label(message))] + self.time(time))
    case .needs(let message, let needs):
      return ("needs", [("message", .label(message))] + self.needs(needs))
    case .undo:
      return ("undo", [])
    case .undoSkip:
      return ("undo-skip", [])
    case .redo:
      return ("redo", [])
    case .clear, .pause, .resume, .threadAdd, .threadMove, .threadRemove, .threadClear,
      .threadUnlock,
      .sessionAdd, .sessionRename, .sessionDelete, .sessionArchive, .sessionUnarchive, .onMerge:
      return sessionVerb(verb)
    }
  }

  private static func sessionVerb(_ verb: DeviceVerb) -> (String, Fields) {
    switch verb {
    case .clear(let session):
      return ("clear", [("session", .label(session))])
    case .pause(let session, let reason):
      return ("pause", [("session", .label(session))] + optional("reason", reason))
    case .resume(let session):
      return ("resume", [("session", .label(session))])
    case .threadAdd(let sessions):
      return ("thread-add", [oneOrMore("session", "sessions", sessions)])
    case .threadMove(let sessions, let place):
      return ("thread-move", [oneOrMore("session", "sessions", sessions), target(place)])
    case .threadRemove(let sessions):
      return ("thread-remove", [oneOrMore("session", "sessions", sessions)])
    case .threadUnlock(let session):
      return ("thread-unlock", [("session", .label(session))])
    case .sessionAdd(let session, let name, let project):
      return (
        "session-add",
        [("session", .label(session))] + optional("name", name) + optional("project", project)
      )
    case .sessionRename(let session, let name):
      return ("session-rename", [("session", .label(session)), ("name", .string(name))])
    case .sessionDelete(let session):
      return ("session-delete", [("session", .label(session))])
    case .sessionArchive(let session):
      return ("session-archive", [("session", .label(session))])
    case .sessionUnarchive(let session):
      return ("session-unarchive", [("session", .label(session))])
    case .onMerge(let session, let policy):
      return ("on-merge", [("session", .label(session)), ("value", .string(policy.rawValue))])
    default:
      return ("thread-clear", [])
    }
  }

  private static func time(_ time: Int64?) -> Fields {
    time.map { [("timeMs", .integer($0))] } ?? []
  }

  private static func needs(_ needs: [Scenario.Label]) -> Fields {
    needs.isEmpty ? [] : [("needs", .labels(needs))]
  }

  private static func fields(of send: DeviceVerb.Send) -> Fields {
    var fields: Fields = [("session", .label(send.session)), ("id", .label(send.id))]
    fields += ScenarioJSON.fields("text", send.text)
    if send.isUrgent { fields.append(("urgent", .boolean(true))) }
    fields += optional("project", send.project)
    if !send.requeuesThread { fields.append(("requeues", .boolean(false))) }
    if send.goesFirst { fields.append(("first", .boolean(true))) }
    return fields + time(send.later) + needs(send.needs)
  }

  static func json(of verb: WorldVerb) -> (String, Fields) {
    switch verb {
    case .sync(let devices): ("sync", devices.map { [("devices", .labels($0))] } ?? [])
    case .settle: ("settle", [])
    case .offline(let devices): ("offline", [("devices", .labels(devices))])
    case .online(let devices): ("online", [("devices", .labels(devices))])
    case .connect(let devices): ("connect", [("devices", .labels(devices))])
    case .dropAcknowledgement(let devices): ("drop-ack", [("devices", .labels(devices))])
    case .cut(let devices): ("cut", [("devices", .labels(devices))])
    case .partition(let devices, let direction):
      ("partition", [("devices", .labels(devices)), ("direction", .string(direction.rawValue))])
    case .heal(let devices): ("heal", [("devices", .labels(devices))])
    case .clog(let devices, let milliseconds):
      ("clog", [("devices", .labels(devices)), ("ms", .integer(milliseconds))])
    case .crash(let devices, let losesPower):
      (
        "crash",
        [("devices", .labels(devices))] + (losesPower ? [("power", .boolean(true))] : [])
      )
    case .crashAtCommit(let devices): ("crash-at-commit", [("devices", .labels(devices))])
    case .restart(let devices): ("restart", [("devices", .labels(devices))])
    case .sleep(let devices, let milliseconds):
      ("sleep", [("devices", .labels(devices)), ("ms", .integer(milliseconds))])
    case .crashServer: ("crash-server", [])
    case .restartServer: ("restart-server", [])
    case .store(let machine, let store):
      ("store", [("device", json(of: machine)), ("value", .string(store.rawValue))])
    case .backup(let machine, let label):
      ("backup", [("device", json(of: machine)), ("label", .label(label))])
    case .restore(.server, let label, _):
      ("restore", [("device", .string("server")), ("label", .label(label))])
    case .restore(let machine, let label, let method):
      (
        "restore",
        [
          ("device", json(of: machine)), ("label", .label(label)),
          ("method", .string(method.rawValue)),
        ]
      )
    case .clone(let device, let copy, let method):
      (
        "clone",
        [
          ("device", .label(device)), ("as", .label(copy)), ("method", .string(method.rawValue)),
        ]
      )
    case .swapServers: ("swap-servers", [])
    case .clock(let machine, let offset):
      ("clock", [("device", json(of: machine)), ("offsetMs", .integer(offset))])
    case .advance(let milliseconds): ("advance", [("ms", .integer(milliseconds))])
    case .settings, .chooseHost, .chooseAgent, .busy, .gate, .stopAgent, .drain:
      hostVerb(verb) ?? ("drain", [])
    }
  }

  private static func json(of machine: WorldVerb.Machine) -> ScenarioJSON {
    switch machine {
    case .server: .string("server")
    case .device(let label): .label(label)
    }
  }

  private static func optional(_ key: String, _ text: String?) -> Fields {
    text.map { [(key, .string($0))] } ?? []
  }

  private static func target(_ place: DeviceVerb.Place) -> (String, ScenarioJSON) {
    switch place {
    case .to(let position): ("to", .integer(position))
    case .before(let label): ("before", .label(label))
    case .after(let label): ("after", .label(label))
    }
  }

  private static func oneOrMore(
    _ one: String, _ more: String, _ labels: [Scenario.Label]
  ) -> (String, ScenarioJSON) {
    labels.count == 1 ? (one, .label(labels[0])) : (more, .labels(labels))
  }
}
