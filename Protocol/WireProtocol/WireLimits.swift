import QueueModel

/// Every maximum of the wire, in one place; SPECIFICATION.md, section "Limits".
package enum WireLimits {
  /// Bytes of one frame.
  package static let frameBytesMax = 1 << 20
  /// Bytes of one delta as it is sent; the other fields of its frame take less than 64 bytes.
  package static let deltaBytesMax = frameBytesMax - 64
  /// Bytes of one echo request, and of its answer; the other fields of its frame take less than 32
  /// bytes.
  package static let echoBytesMax = frameBytesMax - 32
  /// Units of one delta: a message of the greatest length, with the operations that belong to it.
  package static let deltaItemsMax = 1_200_000
  /// Of these, units of operations other than insertText and deleteText, and the tags that they
  /// clear. Each takes memory, and a few compressed bytes can hold thousands. The limit is several
  /// times the largest command, with 10,000 messages.
  package static let deltaOperationsMax = 131_072
  /// Rows of one delta. Different rows take about four bytes each, so a frame has no room for more.
  package static let deltaRowsMax = 262_144
  /// Bytes of one delta after inflation.
  package static let inflateBytesMax = 16 << 20
  /// Bytes of one snapshot after inflation.
  package static let snapshotBytesMax = 1 << 29
  /// Bytes of a workspace's whole state, all parts together, above which a server accepts nothing
  /// new.
  package static let stateBytesMax = 64 << 20
  /// The maximum ratio of inflated data to its stored form.
  package static let inflateRatioMax = 1_000
  /// Bytes that a connection may send before it has authenticated itself.
  package static let preAuthenticationBytesMax = 64 << 10
  /// Bytes of a device token.
  package static let tokenBytes = 32
  /// UTF-8 bytes of a pairing code as typed.
  package static let codeBytesMax = 64
  /// UTF-8 bytes of a human-readable message in a frame; the writer cuts longer ones.
  package static let messageBytesMax = 1_024
  /// Devices that one `presence` may name.
  package static let presenceMax = 1_000
  /// Parts of one snapshot.
  package static let snapshotPartsMax = 65_536
  /// UTF-8 bytes of a notification's title.
  package static let notificationTitleBytesMax = 200
  /// UTF-8 bytes of a notification's body.
  package static let notificationBodyBytesMax = 1_024
  /// Notifications that wait for one device.
  package static let inboxMax = 1_000
  /// Notifications caused by one batch; if there are more, the last ones.
  package static let batchNewsMax = 64
  /// Tags in one field of an element, and operations that introduce it. The server accepts no more
  /// of them.
  package static let elementTagsMax = 1_024
  /// Push addresses of one device.
  package static let pushTargetsMax = 8
  /// The longest delay, in seconds without a user looking at a device, before the user's own
  /// targets are notified.
  package static let personDelaySecondsMax = 86_400
  package static let personDelaySecondsDefault = 60
  /// UTF-8 bytes of a push address.
  package static let pushAddressBytesMax = 4_096
  /// UTF-8 bytes of the name of a kind of push target.
  package static let pushKindBytesMax = 32
  /// Seconds that a request for a file may take without progress.
  package static let blobSecondsMax = 120
  /// Bytes of a file that extend the time by one second.
  package static let blobBytesPerSecondMin = 8 << 10
  /// Categories that one device may turn off.
  package static let categoriesMax = 255
}
