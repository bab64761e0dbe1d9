import type { Stats } from 'node:fs'
import { statSync } from 'node:fs'
import type { Log } from '@postern/core'
import { Unavailable } from '@postern/core'
import { refuseDamaged } from '../engine/sqlite-errors.ts'

interface OpenFile {
  /** Before anything is written: what is written to a file that nobody finds again is lost. @throws Unavailable */
  check(): void
  /** A statement has found the file damaged: nothing more is written to it. */
  reportDamage(error: unknown): void
}

interface OpenFileOptions {
  readonly path: string
  /** How many bytes the database takes by its own account. */
  readSize(): number
  readonly log: Log
}

const fix = 'Stop the gateway, put the database back from a backup, and start it again.'

/**
 * Watches that the path still leads to the file that is open (device, inode, size), and to its log and index. Asked with `stat` alone: to open and close
 * the file would let go of SQLite's locks.
 */
export function watchOpenFile({ path, readSize, log }: OpenFileOptions): OpenFile {
  const known = new Map<string, Stats>()
  let lastSize = 0
  let damage: unknown
  let told: string | undefined

  function findFault(): string | undefined {
    const faults = [path, `${path}-wal`, `${path}-shm`].map(faultOf)
    if (isCutOff(known.get(path)?.size ?? 0)) faults.push(`${path} has been cut off`)
    return faults.find(fault => fault !== undefined)
  }

  /** What is seen for the first time is known from then on. */
  function faultOf(name: string): string | undefined {
    const before = known.get(name)
    const stats = statSync(name, { throwIfNoEntry: false })
    if (!stats) return before && `${name} is gone`
    if (before && !isSame(before, stats)) return `${name} is another file than the one that is open`
    known.set(name, stats)
    return undefined
  }

  function isCutOff(size: number): boolean {
    const isShort = size < lastSize && size < readSize()
    if (!isShort) lastSize = size
    return isShort
  }

  function tell(fault: string | undefined): void {
    if (fault === told) return
    if (fault === undefined) log.info({ path }, 'the database is there again')
    else log.error({ path, fault, fix }, 'the database is lost: nothing is stored any more')
    told = fault
  }

  return {
    check() {
      if (damage) throw refuseDamaged(damage)
      const fault = findFault()
      tell(fault)
      if (fault !== undefined) throw new Unavailable('Cannot store: the database is lost', { retryAfter: 60 })
    },
    reportDamage(error) {
      if (!damage) log.error({ err: error, path, fix }, 'the database is damaged: nothing is stored any more')
      damage ??= error
    },
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

/** A database in memory cannot be lost, but with the process. */
export const noOpenFile: OpenFile = { check() {}, reportDamage() {} }
