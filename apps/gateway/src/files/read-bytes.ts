// Reads the bytes of a file from a message, from the store or from the host that has it.
import { hash } from 'node:crypto'
import type { BytesRef, GuardedFetch } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { Blob, LookupStore } from '@postern/pipeline'

/** The maximum size of a fetched file, bytes. */
const maxFetchedBytes = 25 * 1024 * 1024

interface BytesReaderOptions {
  readonly store: LookupStore
  readonly origin: string
  readonly fetch: GuardedFetch
}

/** Creates the reader of a file's bytes: inline, stored, or at another host. */
export function createBytesReader({ store, origin, fetch }: BytesReaderOptions) {
  return async (ref: BytesRef, signal: AbortSignal): Promise<Uint8Array> => {
    if (ref.kind === 'inline') return Buffer.from(ref.data_base64, 'base64')
    if (ref.kind === 'url') return fetchBytes(fetch, ref.url, signal)
    const { digest, url } = ref
    // A file of another host may be fetched from there. The gateway’s own files are only in its store.
    const isOnOtherHost = url !== undefined && !url.startsWith(`${origin}/`) && !(await findBlob(store, digest))
    return isOnOtherHost ? fetchVerifiedBytes(fetch, { url, digest }, signal) : (await readBlob(store, digest)).bytes
  }
}

async function findBlob(store: LookupStore, digest: string): Promise<Blob | undefined> {
  return /^[0-9a-f]{64}$/.test(digest) ? store.findBlob(digest) : undefined
}

/** Reads a stored file. @throws Rejection `no_recipient` */
export async function readBlob(store: LookupStore, digest: string): Promise<Blob> {
  const blob = await findBlob(store, digest)
  if (!blob) throw new Rejection('no_recipient', 'Cannot read attachment: there is no file with this digest')
  return blob
}

/** The time that a turn waits for the host of a file, ms. */
const fetchTimeoutMs = 15_000

/**
 * Fetches a file from the address that a peer gave.
 * @throws Undeliverable even if its host does not answer, so that the agent learns of the failure; a retry of its turn would continue for days
 */
async function fetchBytes(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const request = { signal, maxBytes: maxFetchedBytes, timeoutMs: fetchTimeoutMs, redirects: 3 }
  const { status, body } = await fetch(url, request).catch(error => {
    if (signal.aborted || !(error instanceof Unavailable)) throw error
    throw new Undeliverable('Cannot fetch attachment: its host does not answer', { cause: error })
  })
  if (status !== 200) throw new Undeliverable(`Cannot fetch attachment: its host answered ${status}`)
  return body
}

async function fetchVerifiedBytes(
  fetch: GuardedFetch,
  { url, digest }: { readonly url: string; readonly digest: string },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await fetchBytes(fetch, url, signal)
  if (hash('sha256', bytes) === digest) return bytes
  throw new Undeliverable('Cannot fetch attachment: its bytes do not match the digest')
}
