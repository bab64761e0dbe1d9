// Declares the dependencies of every part of the store.
import type { Log } from '@postern/message'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import type { BlobFiles } from '../files/blob-files.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'
import type { Writer } from './writer.ts'

/** Dependencies of every part of the store. */
export interface StoreContext extends WriterExclusivity {
  readonly db: Sql
  readonly write: Writer['write']
  readonly writeLightly: Writer['writeLightly']
  readonly writeLast: Writer['writeLast']
  readonly now: () => number
  readonly channels: ChannelFacts
  readonly log: Log
  readonly files: BlobFiles
  /** The key of the digests that stand for deleted messages and forgotten names. */
  readonly handledSecret: string
  /** True if the store only reads. Then secrets that nobody has made do not exist. */
  readonly readsOnly: boolean
  /** Removes deleted rows from everything that the engine keeps beside its tables. It runs after a person was forgotten. */
  scrub(): void
}
