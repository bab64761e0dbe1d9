// Watches the free space on the disk of the embedded store.
import { statfsSync } from 'node:fs'
import type { Log } from '@postern/message'
import { Unavailable } from '@postern/message'

/** The check that the disk has space for one more message. */
export interface FreeSpace {
  /** Checks the free space. @throws Unavailable if the disk is too full for a sender of this kind */
  check(sender: { readonly isProven: boolean }): void
}

interface FreeSpaceOptions {
  /**
   * The number of free bytes below which the gateway refuses unproven senders, and below half of which it refuses everybody. Undefined for
   * no limit.
   */
  readonly minFreeBytes: number | undefined
  /** Returns the number of free bytes. */
  readonly measureFreeBytes: () => number
  readonly now: () => number
  readonly log: Log
}

type Level = 'enough' | 'low' | 'full'

const refusal = 'Cannot store message: the disk is almost full'
const retryAfter = 300
/** The time for which a measurement of the disk is valid, ms. The mail of one second cannot fill the reserve. */
const measurementTtlMs = 1_000

const fix = 'Free space on the disk, or lower limits.free_bytes.'
const logTexts: Readonly<Record<Level, string>> = {
  enough: 'the disk has space again: all senders may write',
  low: 'the disk is almost full: the gateway refuses unproven senders for now',
  full: 'the disk is almost full: the gateway refuses all senders for now',
}

/** Returns the number of bytes below `directory` that a program without special rights may still write. */
export function readFreeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

export function createFreeSpace({ minFreeBytes, measureFreeBytes: readFree, now, log }: FreeSpaceOptions): FreeSpace {
  if (!minFreeBytes) return { check() {} }
  let level: Level = 'enough'
  let measuredAt = Number.NEGATIVE_INFINITY

  function measure(minBytes: number): void {
    if (Math.abs(now() - measuredAt) < measurementTtlMs) return
    measuredAt = now()
    const freeBytes = readFree()
    const measuredLevel = freeBytes >= minBytes ? 'enough' : freeBytes >= minBytes / 2 ? 'low' : 'full'
    if (measuredLevel !== level)
      log.warn({ free_bytes: freeBytes, ...(measuredLevel !== 'enough' && { fix }) }, logTexts[measuredLevel])
    level = measuredLevel
  }

  return {
    check({ isProven }) {
      measure(minFreeBytes)
      if (level === 'full' || (level === 'low' && !isProven)) throw new Unavailable(refusal, { retryAfter })
    },
  }
}
