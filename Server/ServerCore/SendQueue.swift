/// The waiting frames of one receiver: first those that it missed, then live ones.
///
/// The core hands the driver no more than a window. So the driver's buffers stay small, and
/// catching up does not count as slowness.
struct SendQueue: Sendable {
  private var missed: [[UInt8]] = []
  private var missedNext = 0
  /// Bytes of missed frames that were not handed to the driver yet.
  private(set) var missedBytes = 0
  private var live: [[UInt8]] = []
  private var liveNext = 0
  private var liveBytes = 0
  /// Bytes handed to the driver that it has not reported as sent.
  private(set) var handedBytes = 0
  /// Whether the missed frames are still being read; live frames must not overtake them.
  private(set) var isHeld = false

  /// The bytes that count against the limit for slow receivers.
  var waitingBytes: Int { liveBytes + handedBytes }
  var isEmpty: Bool { missedNext == missed.count && liveNext == live.count }

  /// Holds live frames back until `release`.
  mutating func hold() {
    isHeld = true
  }

  /// Puts the missed frames before the live frames, and releases all.
  mutating func release(_ frames: [[UInt8]]) {
    missed.removeFirst(missedNext)
    missedNext = 0
    missed += frames
    missedBytes += frames.reduce(0) { $0 + $1.count }
    isHeld = false
  }

  /// Accepts a frame.
  ///
  /// - Returns: whether it may be sent at once; otherwise it is queued.
  mutating func offer(_ frame: [UInt8], window: Int) -> Bool {
    if !isHeld, isEmpty, handedBytes == 0 || handedBytes + frame.count <= window {
      handedBytes += frame.count
      return true
    }
    live.append(frame)
    liveBytes += frame.count
    return false
  }

  /// The driver's count of unsent bytes.
  mutating func driverHolds(_ bytes: Int) {
    handedBytes = max(bytes, 0)
  }

  /// The next frame that fits the window.
  mutating func next(window: Int) -> [UInt8]? {
    guard !isHeld else { return nil }
    if missedNext < missed.count {
      let frame = missed[missedNext]
      guard fits(frame, window) else { return nil }
      missed[missedNext] = []
      missedNext += 1
      missedBytes -= frame.count
      if missedNext == missed.count {
        missed = []
        missedNext = 0
      }
      return frame
    }
    guard liveNext < live.count, fits(live[liveNext], window) else { return nil }
    let frame = live[liveNext]
    live[liveNext] = []
    liveNext += 1
    liveBytes -= frame.count
    if liveNext == live.count {
      live = []
      liveNext = 0
    }
    return frame
  }

  private mutating func fits(_ frame: [UInt8], _ window: Int) -> Bool {
    guard handedBytes == 0 || handedBytes + frame.count <= window else { return false }
    handedBytes += frame.count
    return true
  }
}
