// Computes digests of names, so that a rule that protects others from a person survives when the store forgets the person.
import { createHmac } from 'node:crypto'
import type { StoreContext } from '../transaction/store-context.ts'

export interface KeyedDigests {
  /** Returns the digest that stands for a name. */
  digest(name: string): string
  /** Returns these names together with their digests. */
  withDigests(names: readonly string[]): readonly string[]
}

export function createKeyedDigests({ handledSecret }: Pick<StoreContext, 'handledSecret'>): KeyedDigests {
  const digest = (name: string) =>
    `hmac:${createHmac('sha256', handledSecret).update(`name ${name}`).digest('base64url')}`
  return { digest, withDigests: names => [...names, ...names.map(digest)] }
}
