import { createHmac, randomBytes } from 'node:crypto'
import type { LookupDesk, PeopleHouse } from '@postern/core'

/** Codes come of a key that only this gateway has, made once. */
export async function openPeopleHouse(desk: Pick<LookupDesk, 'secret'>): Promise<PeopleHouse> {
  const key = await desk.secret('people', async () => randomBytes(32).toString('base64'))
  return { deriveBytes: claim => createHmac('sha256', key).update(claim).digest() }
}
