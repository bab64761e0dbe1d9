import type { EntryBody } from '../entry/entry.ts'
import type { FormatName } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import type { Dialect } from './dialect.ts'

/** The entries of one message. */
export type EntryRun = readonly [EntryBody, ...EntryBody[]]

/** How many entries the message at `place` became; 0 when it is incomplete there, or not of this dialect. */
export function ownRunLength(entries: readonly EntryBody[], place: number, format: FormatName): number {
  const head = entries[place]
  const length = head?.ext?.[format]?.of ?? 0
  if (length <= 1) return length
  const run = entries.slice(place, place + length)
  return run.length === length && run.every(({ group_id }) => group_id === head?.entry_id) ? length : 0
}

export function splitRuns<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
): readonly EntryRun[] {
  const runs: EntryRun[] = []
  let place = 0
  while (place < entries.length) {
    const length = countRunAt(entries, place, dialect)
    if (!isToldElsewhere(entries[place], dialect.format)) {
      runs.push(entries.slice(place, place + length) as unknown as EntryRun)
    }
    place += length
  }
  return runs
}

function isToldElsewhere(entry: EntryBody | undefined, format: FormatName): boolean {
  return entry?.ext?.[format]?.of === 0
}

function countRunAt<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  place: number,
  dialect: Dialect<Foreign>,
): number {
  if (isToldElsewhere(entries[place], dialect.format)) return 1
  return ownRunLength(entries, place, dialect.format) || countForeignRun(entries, place, dialect)
}

export function countWhole<Foreign extends JsonMap>(entries: readonly EntryBody[], dialect: Dialect<Foreign>): number {
  let place = 0
  while (place < entries.length) {
    const length = countRunAt(entries, place, dialect)
    const isOpen = place + length === entries.length && mayGoOn(entries[place], length, dialect.format)
    if (isOpen || place + (entries[place]?.ext?.[dialect.format]?.of ?? 0) > entries.length) return place
    place += length
  }
  return place
}

/** Only entries of one group are one message. Messages of this dialect stored their length. */
function mayGoOn(head: EntryBody | undefined, length: number, format: FormatName): boolean {
  return head?.group_id !== undefined && head.ext?.[format]?.of !== length && length < longestForeignRun
}

const longestForeignRun = 64

/** A run of another dialect's entries never includes the first entry of a message of this dialect. */
function countForeignRun<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  place: number,
  dialect: Dialect<Foreign>,
): number {
  const near = entries.slice(place, place + longestForeignRun)
  const next = near.findIndex((_, index) => index > 0 && ownRunLength(entries, place + index, dialect.format) > 0)
  return dialect.countRun(next < 0 ? near : near.slice(0, next))
}
