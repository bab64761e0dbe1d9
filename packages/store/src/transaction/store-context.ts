// Declares the dependencies of every part of the store.
import type { Log } from '@postern/message'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import type { BlobFiles } from '../files/blob-files.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'
import type { Writer } from './writer.ts'

/** The dependencies of every part of the store. */
export interface StoreContext extends WriterExclusivity {
  readonly db: Sql
  readonly write: Writer['write']
  readonly writeLightly: Writer['writeLightly']
  readonly writeLast: Writer['writeLast']
  readonly now: () => number
  readonly channels: ChannelFacts
  readonly log: Log
  readonly files: BlobFiles
  /** The key of the digests that replace the keys of deleted messages and the names of forgotten people. */
  readonly handledSecret: string
  /** True if the store only reads. Such a store cannot create missing secrets. */
  readonly readsOnly: boolean
  /** Removes deleted rows from the files of the engine besides its tables, after a person was forgotten. */
  scrub(): void
}
