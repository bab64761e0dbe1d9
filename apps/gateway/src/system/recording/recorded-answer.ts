// Turns answers of other hosts into records for a replay, with the owner and the post that they show.
import type { FetchAnswer, Json } from '@postern/message'
import { isJsonObject, parseIfJson, Unavailable, Undeliverable } from '@postern/message'
import type { Lookup } from '@postern/pipeline'

/** The size beyond which documents are not recorded. The documents that a proof needs are smaller. */
const maxBytes = 48 * 1024

/** The header fields that channels read. */
const recordedFields = ['content-type', 'location', 'cache-control', 'link']

/** Returns the record of another host's answer, or undefined if its body is too long. */
export function describeAnswer({ status, headers, url, body }: FetchAnswer): Json | undefined {
  if (body.byteLength > maxBytes) return undefined
  const fields = recordedFields.flatMap(name => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { status, headers: Object.fromEntries(fields), url, body: Buffer.from(body).toString('base64') }
}

/** Returns the record of a failed request, or undefined if its caller canceled it. */
export function describeFetchFailure(error: unknown): Json | undefined {
  if (error instanceof Unavailable) return { error: 'Unavailable', message: error.message }
  return error instanceof Undeliverable ? { error: 'Undeliverable', message: error.message } : undefined
}

export type ShownDocument = Pick<Lookup, 'owner' | 'object'>

/** Finds the owner and the post of a document. It may be an actor, a post or its activity, or an account that WebFinger names. */
export function findShownDocument({ headers, body }: FetchAnswer): ShownDocument {
  if (!/json/i.test(headers.get('content-type') ?? '') || body.byteLength > maxBytes) return {}
  const document = parseIfJson(Buffer.from(body).toString())
  if (!isJsonObject(document)) return {}
  const posts = [document, document.object].filter(isJsonObject)
  const post = posts.find(({ attributedTo }) => findId(attributedTo) !== undefined)
  if (post) return omitAbsentMembers({ owner: findId(post.attributedTo), object: findId(post) })
  const { links, actor } = document
  const selfLink = (Array.isArray(links) ? links : []).find(link => isJsonObject(link) && link.rel === 'self')
  return omitAbsentMembers({ owner: findId(isJsonObject(selfLink) ? selfLink.href : (actor ?? document)) })
}

/** Returns the id of a reference, of an object, or of the first of several. */
function findId(value: unknown): string | undefined {
  const firstValue: unknown = Array.isArray(value) ? value[0] : value
  const id = isJsonObject(firstValue) ? firstValue.id : firstValue
  return typeof id === 'string' ? id : undefined
}

function omitAbsentMembers({ owner, object }: ShownDocument): ShownDocument {
  return { ...(owner !== undefined && { owner }), ...(object !== undefined && { object }) }
}
