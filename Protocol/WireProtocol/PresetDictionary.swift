/// The preset dictionary of compressed bodies; normative, SPECIFICATION.md, section "Dictionary".
///
/// Prompts to coding agents mostly repeat words, and most deltas are too short to learn them. Rare
/// words come first: references to the end are shorter. The bytes never change within an envelope
/// version; `TestVectors/dictionary.txt` has the same bytes.
package struct PresetDictionary: Sendable {
  package let bytes: [UInt8]
  /// The CRC-32 of the bytes, lowest byte first.
  let checksumBytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let sum = Checksum.crc32(bytes)
    checksumBytes = (0..<4).map { UInt8(truncatingIfNeeded: sum >> UInt32(8 * $0)) }
  }

  package static let standard = PresetDictionary(Array(text.utf8))

  private static let text = """
    accessibility animation benchmark breakpoint clipboard concurrency coverage credentials \
    debounce delegate deployment deprecated encoding encryption endpoint environment factory \
    fixture gradient heartbeat idempotent inheritance iterator keyboard latency layout lifecycle \
    localization middleware milestone notification overflow pagination parallel payload pipeline \
    placeholder production protocol rebase recursive redirect reducer regression renderer rollback \
    sandbox scheduler serializer shortcut singleton snapshot socket staging subscription syntax \
    template threshold throttle timestamp timezone tooltip transaction translate typescript \
    unicode upload validator websocket whitespace workflow wrapper yaml zero \
    .json .swift .ts .py .md .yml README CHANGELOG LICENSE https://github.com/ localhost:8080 /usr/ \
    src/ lib/ tests/ docs/ Sources/ Package.swift npm run git commit push pull request branch \
    merge conflict rename the module package library dependency dependencies upgrade version \
    release notes design review security performance optimize profile memory leak cache caching \
    database migration schema table column index query SQL transaction server client network \
    connection timeout retry backoff queue worker thread async await task cancel lock race \
    condition deadlock parse parser format formatter lint warnings compiler build script CI \
    docker container deploy config configuration settings option flag default value environment \
    variable user login password token session authentication authorization permission role \
    account email message notification button screen page view component style color dark mode \
    theme font icon image menu dialog modal form field input validation list row cell header \
    footer sidebar scroll click drag keyboard mobile responsive \
    document documentation comment example explain describe summarize summary investigate \
    analyze debug reproduce the crash exception stack trace log logging print output command line \
    argument parameter return type struct class enum interface protocol extension generic \
    property method string number array dictionary object null nil optional boolean integer \
    implementation instead of using different between without because through against another \
    existing current previous following correct correctly properly already always never \
    sometimes every each only after before when while until unless should could would might \
    must need needs want wants have been does not don't doesn't can't isn't it's that's let's \
    I think there is a bug in the where the error message says that it fails to when the user \
    improve simplify extract split clean up remove unused dead code duplicate move rename \
    replace convert migrate update the change changes create delete insert generate write a new \
    unit test integration tests for the all tests pass failing test and run the tests again \
    make sure that check whether if the please look at what why how which who \
    add support for handle the case where the edge cases refactor the function so that it uses \
    file files code project repository directory folder data state system model API endpoint \
    feature issue problem fix the bug in this these those them they with from into about out \
    over under then than also just like more most some any other first last next new old \
    implement the show how to use it as well as we can you could you please and add the test \
    to be able to of the in the on the to the for the from the with the and the is a that the \
    ing tion ation ment ness able ed er ly es and to of in it is on for with this that the\u{20}
    """
}
