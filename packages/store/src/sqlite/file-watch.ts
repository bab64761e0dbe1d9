// Detects the replacement, loss or damage of an open database file.
import type { Stats } from 'node:fs'
import { statSync } from 'node:fs'
import type { Log } from '@postern/message'
import { ConfigError, Unavailable } from '@postern/message'
import { refuseDamaged } from './write/sqlite-errors.ts'

interface OpenFile {
  /** Checks the file before each write, because data that go to a deleted or replaced file are lost. @throws Unavailable */
  check(): void
  /** Records that a statement has found damage in the file. From then on, writes are refused. */
  reportDamage(error: unknown): void
}

interface OpenFileOptions {
  readonly path: string
  /** Returns the size that the database itself reports, in bytes. */
  readSize(): number
  readonly log: Log
}

const fix = 'Stop the gateway, put the database back from a backup, and start it again.'

/** The fix for a missing log or index. The gateway still has the file open, and SQLite writes its content into the database when it closes. */
const closeFix =
  'Stop the gateway with SIGTERM, so that it writes what it still holds into the database; then start it again.'

const findFix = (fault: string): string => (/-(wal|shm) is gone$/.test(fault) ? closeFix : fix)

/**
 * Watches that the path still leads to the open file (device, inode, size), and to its log and index. The watch uses only `stat`, because opening and
 * closing the file would release SQLite's locks.
 */
export function watchOpenFile({ path, readSize, log }: OpenFileOptions): OpenFile {
  const statsByPath = new Map<string, Stats>()
  let lastSize = 0
  let damage: unknown
  let reportedFault: string | undefined

  function findFault(): string | undefined {
    const faults = [path, `${path}-wal`, `${path}-shm`].map(findFileFault)
    if (isTruncated(statsByPath.get(path)?.size ?? 0)) faults.push(`${path} has been cut off`)
    return faults.find(fault => fault !== undefined)
  }

  /** Describes the loss of a file. Returns undefined if the file is the same as at the first call. */
  function findFileFault(name: string): string | undefined {
    const previousStats = statsByPath.get(name)
    const stats = statSync(name, { throwIfNoEntry: false })
    if (!stats) return previousStats && `${name} is gone`
    if (previousStats && !isSameFile(previousStats, stats)) return `${name} is another file than the one that is open`
    statsByPath.set(name, stats)
    return undefined
  }

  function isTruncated(size: number): boolean {
    const isShort = size < lastSize && size < readSize()
    if (!isShort) lastSize = size
    return isShort
  }

  function reportChange(fault: string | undefined): void {
    if (fault === reportedFault) return
    if (fault === undefined) log.info({ path }, 'the database is there again')
    else log.error({ path, fault, fix: findFix(fault) }, 'the database is lost: nothing is stored any more')
    reportedFault = fault
  }

  return {
    check() {
      if (damage) throw refuseDamaged(damage)
      const fault = findFault()
      reportChange(fault)
      if (fault === undefined) return
      const cause = new ConfigError('data', fault, findFix(fault))
      throw new Unavailable('Cannot store: the database is lost', { retryAfter: 60, cause })
    },
    reportDamage(error) {
      if (!damage) log.error({ err: error, path, fix }, 'the database is damaged: nothing is stored any more')
      damage ??= error
    },
  }
}

function isSameFile(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

/** The watch of a database in memory, which cannot be lost while its process runs. */
export const noOpenFile: OpenFile = { check() {}, reportDamage() {} }
