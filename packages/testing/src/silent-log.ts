// Discards every log line.
import type { Log } from '@postern/message'

/** A log that discards every line, for tests. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
