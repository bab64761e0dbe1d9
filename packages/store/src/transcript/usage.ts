import { Rejection } from '@postern/core'
import type { OwnerQuota } from '@postern/transcript'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import { endZeroTotals } from '../engine/totals/zero-totals.ts'

/** Running totals, so that looking one up reads no thread. Synchronous: what writes runs inside a write. */
export interface UsageTable {
  /** What is written into threads, and taken out; `most`: what the owner may have then. @throws Rejection too_large, of what grows */
  add(owner: string, by: OwnerQuota, most?: OwnerQuota): void
  /** With what the store keeps of the owner's tasks, and agents of their conversations. */
  read(owner: string): OwnerQuota
  /** @throws Rejection too_large when the owner has no room for so much more */
  check(owner: string, by: OwnerQuota, most: OwnerQuota): void
}

const nothing: OwnerQuota = { threads: 0, entries: 0, bytes: 0 }

export function createUsageTable(db: Database): UsageTable {
  const add = prepareQuery(
    db,
    `INSERT INTO transcript_usage (owner, threads, entries, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (owner, shard) DO UPDATE SET
       threads = transcript_usage.threads + excluded.threads, entries = transcript_usage.entries + excluded.entries,
       bytes = transcript_usage.bytes + excluded.bytes`,
  )
  const end = prepareQuery(db, endZeroTotals('transcript_usage', ['threads', 'entries', 'bytes']))
  const find = prepareQuery<OwnerQuota>(
    db,
    `SELECT sum(threads) AS threads, sum(entries) AS entries, sum(bytes) AS bytes FROM (
       SELECT threads, entries, bytes FROM transcript_usage WHERE owner = ?1
       UNION ALL SELECT 0, tasks, bytes FROM task_bytes WHERE owner = ?1
       UNION ALL SELECT 0, 0, bytes FROM kept_data WHERE owner = ?1
       UNION ALL SELECT 0, 0, 0)`,
  )

  const read = (owner: string) => find.get(owner) ?? nothing

  function check(owner: string, by: OwnerQuota, most: OwnerQuota): void {
    const used = read(owner)
    for (const name of kinds) {
      if (by[name] > 0 && used[name] + by[name] > most[name]) {
        throw new Rejection('too_large', `Cannot store: with it you would have more than ${most[name]} ${name}`)
      }
    }
  }

  return {
    add(owner, by, most) {
      if (kinds.every(name => by[name] === 0)) return
      if (most) check(owner, by, most)
      add.run(owner, by.threads, by.entries, by.bytes)
      if (by.threads < 0) end.run(owner)
    },
    read,
    check,
  }
}

const kinds = ['threads', 'entries', 'bytes'] as const
