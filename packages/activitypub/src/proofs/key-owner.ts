import { Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import { createExpiringMap } from '../cache/expiring-map.ts'
import type { Iri } from '../format/iri.ts'
import { isOnOrigin, parseIri } from '../format/iri.ts'
import { asObject, idOf } from '../format/reading.ts'
import type { FetchDocument } from '../peers/document-fetch.ts'

/**
 * The claimed owner of a key, by its id or by the document under it. It only says where to look: the owner's own
 * document decides.
 * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`
 */
export type FindKeyOwner = (key: Iri) => Promise<Iri>

const maxKeys = 5_000
const keepMs = 86_400_000
/** Look-ups a minute that strangers can make us do. */
const ceilings = { perHost: 120, inAll: 1_200 } as const

export function createKeyOwners({ fetchDocument, now }: { fetchDocument: FetchDocument; now(): number }): FindKeyOwner {
  const known = createExpiringMap<Iri>(maxKeys, now)
  const perHost = createRateLimit({ perMinute: ceilings.perHost }, now)
  const inAll = createRateLimit({ perMinute: ceilings.inAll }, now)

  /** Some servers give their keys documents of their own (GoToSocial: `/users/x/main-key`). */
  async function ask(key: Iri): Promise<Iri> {
    perHost.take(key.host)
    inAll.take('')
    const fetched = await fetchDocument(key.href)
    const owner = fetched.state === 'found' ? readOwner(fetched.document) : undefined
    if (!owner || !isOnOrigin(owner, key.origin)) throw new Undeliverable('Cannot read key: it names no owner here')
    return parseIri(owner, "its key's owner")
  }

  return async function findKeyOwner(key) {
    const fragment = key.href.indexOf('#')
    if (fragment >= 0) return parseIri(key.href.slice(0, fragment), "its key's owner")
    const owner = known.get(key.href) ?? (await ask(key))
    known.set(key.href, owner, keepMs)
    return owner
  }
}

function readOwner(document: unknown): string | undefined {
  const json = asObject(document)
  const listed = asObject(json?.publicKey)
  return idOf(listed?.owner) ?? idOf(json?.owner) ?? idOf(json?.controller) ?? idOf(json?.id)
}
