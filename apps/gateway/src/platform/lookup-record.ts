import type { FetchAnswer, Json, Lookup } from '@postern/core'
import { isJsonObject, parseIfJson, Unavailable, Undeliverable } from '@postern/core'

/** Longer documents are not kept, bytes: none that a proof needs is. */
const maxBytes = 48 * 1024

/** Of an answer's fields those that somebody reads. */
const keptFields = ['content-type', 'location', 'cache-control', 'link']

/** What an answer of another host is kept as; undefined for one that is too long. */
export function describeAnswer({ status, headers, url, body }: FetchAnswer): Json | undefined {
  if (body.byteLength > maxBytes) return undefined
  const fields = keptFields.flatMap(name => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { status, headers: Object.fromEntries(fields), url, body: Buffer.from(body).toString('base64') }
}

/** A request that its caller broke off says nothing. */
export function describeFetchFailure(error: unknown): Json | undefined {
  if (error instanceof Unavailable) return { error: 'Unavailable', message: error.message }
  return error instanceof Undeliverable ? { error: 'Undeliverable', message: error.message } : undefined
}

export type ShownDocument = Pick<Lookup, 'owner' | 'object'>

/** Whose document it is, and the post that it shows: an actor's own, a post or its activity, or the account that WebFinger names. */
export function findShown({ headers, body }: FetchAnswer): ShownDocument {
  if (!/json/i.test(headers.get('content-type') ?? '') || body.byteLength > maxBytes) return {}
  const document = parseIfJson(Buffer.from(body).toString())
  if (!isJsonObject(document)) return {}
  const posts = [document, document.object].filter(isJsonObject)
  const post = posts.find(({ attributedTo }) => findId(attributedTo) !== undefined)
  if (post) return withoutAbsent({ owner: findId(post.attributedTo), object: findId(post) })
  const { links, actor } = document
  const self = (Array.isArray(links) ? links : []).find(link => isJsonObject(link) && link.rel === 'self')
  return withoutAbsent({ owner: findId(isJsonObject(self) ? self.href : (actor ?? document)) })
}

/** Of a reference, an object, or the first of several. */
function findId(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  const id = isJsonObject(first) ? first.id : first
  return typeof id === 'string' ? id : undefined
}

function withoutAbsent({ owner, object }: ShownDocument): ShownDocument {
  return { ...(owner !== undefined && { owner }), ...(object !== undefined && { object }) }
}
