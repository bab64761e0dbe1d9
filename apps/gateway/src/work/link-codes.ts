import { createHmac, randomBytes } from 'node:crypto'
import type { LookupStore, PeopleDeps } from '@postern/core'

/** Codes come of a key that only this gateway has, made once. */
export async function openLinkCodes(store: Pick<LookupStore, 'secret'>): Promise<PeopleDeps> {
  const key = await store.secret('people', async () => randomBytes(32).toString('base64'))
  return { deriveBytes: claim => createHmac('sha256', key).update(claim).digest() }
}
