import type { Log } from '@postern/core'

/** A log that keeps nothing. Tests of core have their own: core imports no package. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
