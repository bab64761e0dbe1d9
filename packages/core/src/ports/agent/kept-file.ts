import type { Blob } from '../records/planned-delivery.ts'

/** A file of a message that lay elsewhere. */
export interface KeptFile extends Blob {
  readonly url: string
}

/** The bytes behind an address, if they are such as are kept; undefined: they are left where they are. @throws Unavailable, Undeliverable */
export type FetchFile = (url: string, signal: AbortSignal) => Promise<Pick<Blob, 'bytes' | 'mime'> | undefined>
