package import QueueModel
import SequenceCRDT

/// Random changes to a state, as an attacker who can write every field might make them.
package enum ImageMutation {
  /// Makes one change.
  package static func change(_ image: inout WorkspaceImage, using generator: inout SeededGenerator)
  {
    switch generator.below(10) {
    case 0: change(one: &image.replicas, using: &generator, change)
    case 1: change(one: &image.threadSlots, using: &generator, change)
    case 2: changeTime(inOneOf: &image.threadSlots, using: &generator)
    default: change(one: &image.sessions, using: &generator, change)
    }
  }

  /// Drops, doubles or swaps an element, or, most often, changes one.
  private static func change<Element>(
    one list: inout [Element], using generator: inout SeededGenerator,
    _ body: (inout Element, inout SeededGenerator) -> Void
  ) {
    guard !list.isEmpty else { return }
    let (index, other) = (generator.below(list.count), generator.below(list.count))
    switch generator.below(20) {
    case 0: list.remove(at: index)
    case 1: list.insert(list[index], at: other)
    case 2: list.swapAt(index, other)
    default: body(&list[index], &generator)
    }
  }

  private static func change(
    _ replica: inout WorkspaceImage.Replica, _ generator: inout SeededGenerator
  ) {
    switch generator.below(5) {
    case 0: replica.id.rawValue = UInt64(generator.below(5))
    case 1: change(&replica.seq, &generator)
    case 2: replica.seq &+= UInt32(generator.below(3))
    case 3: replica.announcement = nil
    default: replica.announcement?.seq = UInt32(generator.below(4))
    }
  }

  private static func change(
    _ session: inout WorkspaceImage.Session, _ generator: inout SeededGenerator
  ) {
    switch generator.below(17) {
    case 16: changeTime(inOneOf: &session.slots, using: &generator)
    case 0: session.key = .named("session-\(generator.below(4))")
    case 1: change(one: &session.references, using: &generator, change)
    case 2: change(one: &session.tags, using: &generator, change)
    case 3: change(one: &session.registers, using: &generator, change)
    case 4: change(&session.threadPosition, &generator)
    case 5: change(&session.enqueued, &generator)
    case 6...8: change(one: &session.slots, using: &generator, change)
    default: change(one: &session.messages, using: &generator, change)
    }
  }

  private static func change(
    _ message: inout WorkspaceImage.Message, _ generator: inout SeededGenerator
  ) {
    switch generator.below(10) {
    case 0: message.id = .numbered(UInt64(generator.below(8)))
    case 1: change(one: &message.tags, using: &generator, change)
    case 2: change(one: &message.registers, using: &generator, change)
    case 3: change(&message.position, &generator)
    default: change(one: &message.additions, using: &generator, change)
    }
  }

  private static func change(
    _ addition: inout WorkspaceImage.Addition, _ generator: inout SeededGenerator
  ) {
    switch generator.below(8) {
    case 0: change(&addition.id, &generator)
    case 1: change(&addition.stamp, &generator)
    case 2: addition.text += "é"
    case 3: addition.text = String(addition.text.reversed())
    default:
      change(one: &addition.runs, using: &generator) { run, generator in
        if generator.chance(30) {
          run.isVisible.toggle()
          // Often the shown text still matches.
          addition.text += generator.chance(50) ? String(repeating: "x", count: 1) : ""
        } else {
          change(&run.slots, &generator)
        }
      }
    }
  }

  private static func change(
    _ tags: inout WorkspaceImage.Tags, _ generator: inout SeededGenerator
  ) {
    if generator.chance(20) {
      tags.field.rawValue = UInt8(generator.below(8))
    } else {
      change(one: &tags.tags, using: &generator) { tag, generator in
        if generator.chance(30) { tag.note += "x" } else { change(&tag.id, &generator) }
      }
    }
  }

  private static func change(
    _ register: inout WorkspaceImage.Register, _ generator: inout SeededGenerator
  ) {
    switch generator.below(4) {
    case 0: register.field.rawValue = UInt8(generator.below(12))
    case 1: register.value = .number(UInt64(generator.below(3)))
    case 2: change(&register.stamp, &generator)
    default: change(&register.writer, &generator)
    }
  }

  private static func change(
    _ position: inout WorkspaceImage.Position?, _ generator: inout SeededGenerator
  ) {
    if var changed = position, generator.chance(80) {
      change(&changed, &generator)
      position = changed
    } else {
      position = nil
    }
  }

  private static func change(
    _ position: inout WorkspaceImage.Position, _ generator: inout SeededGenerator
  ) {
    if generator.chance(50) {
      change(&position.slot, &generator)
    } else {
      change(&position.stamp, &generator)
    }
  }

  private static func change(
    _ run: inout WorkspaceImage.SlotRun, _ generator: inout SeededGenerator
  ) {
    switch generator.below(6) {
    case 0: change(&run.id, &generator)
    case 1: run.origins.left = origin(run, &generator)
    case 2: run.origins.right = origin(run, &generator)
    case 3: run.length &+= generator.below(3) - 1
    case 4: run.length = generator.pick([0, -1, 1 << 16, .max, .min]) ?? 0
    default: swap(&run.origins.left, &run.origins.right)
    }
  }

  private static func changeTime(
    inOneOf slots: inout [WorkspaceImage.SlotRun], using generator: inout SeededGenerator
  ) {
    guard !slots.isEmpty else { return }
    let index = generator.below(slots.count)
    slots[index].origins.time =
      generator.pick([0, -1, .min, .max, slots[index].origins.time &+ 1]) ?? 0
  }

  private static func origin(
    _ run: WorkspaceImage.SlotRun, _ generator: inout SeededGenerator
  ) -> OperationID? {
    guard generator.chance(80), var id = run.origins.left ?? run.origins.right else { return nil }
    change(&id, &generator)
    return id
  }

  /// Another id, usually of an operation nearby.
  private static func change(_ id: inout OperationID, _ generator: inout SeededGenerator) {
    switch generator.below(8) {
    case 0: id.replica.rawValue = UInt64(generator.below(4))
    case 1: change(&id.seq, &generator)
    default: id.seq = id.seq &+ UInt32(generator.below(5)) &- 2
    }
  }

  private static func change(_ seq: inout UInt32, _ generator: inout SeededGenerator) {
    seq = generator.pick([0, 1, 7, 1 << 17, 1 << 31, .max]) ?? 0
  }

  private static func change(_ stamp: inout Stamp, _ generator: inout SeededGenerator) {
    stamp.rawValue = generator.pick([0, stamp.rawValue &+ 1, stamp.rawValue &- 1, .max]) ?? 0
  }
}
