/// The version of all programs of this package.
package enum Version {
  package static let number = "0.1.0"
}
