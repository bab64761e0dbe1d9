import type { Log } from '@postern/core'
import type { ChannelFacts } from '../channels/facts.ts'
import type { BlobFiles } from './blob-files.ts'
import type { Ownership, Sql } from './database.ts'
import type { Writer } from './writer.ts'

/** What every part of the store works with. */
export interface StoreContext extends Ownership {
  readonly db: Sql
  readonly write: Writer['write']
  readonly writeLightly: Writer['writeLightly']
  readonly writeLast: Writer['writeLast']
  readonly now: () => number
  readonly channels: ChannelFacts
  readonly log: Log
  readonly files: BlobFiles
  /** After somebody was forgotten: nothing of what was deleted stays in what the engine keeps beside its tables. */
  scrub(): void
}
