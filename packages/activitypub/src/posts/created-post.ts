import { Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import type { Activity } from '../format/activity.ts'
import { checkPost, isReadablePost } from '../format/activity.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, idsOf, textOf } from '../format/reading.ts'
import type { FetchDocument } from '../peers/document-fetch.ts'

/**
 * The post that a `Create` names by its IRI alone, fetched from its own origin, which is the actor's. Undefined when
 * its host shows none, or names another author.
 * @throws Unavailable, Rejection `rate_limited`, `malformed`, `too_large`
 */
export type FetchCreatedPost = (activity: Activity) => Promise<JsonObject | undefined>

/** Posts a minute that strangers can make us fetch. */
const ceilings = { perHost: 60, inAll: 600 } as const

export function createCreatedPosts({
  fetchDocument,
  now,
}: {
  readonly fetchDocument: FetchDocument
  now(): number
}): FetchCreatedPost {
  const perHost = createRateLimit({ perMinute: ceilings.perHost }, now)
  const inAll = createRateLimit({ perMinute: ceilings.inAll }, now)
  return async function fetchCreatedPost({ json, actor }) {
    const id = textOf(json.object)
    if (!id) return undefined
    perHost.take(actor.host)
    inAll.take('')
    const post = asObject(await fetchShown(id, fetchDocument))
    if (post?.id !== id || !isReadablePost(post) || !idsOf(post.attributedTo).includes(actor.href)) return undefined
    checkPost(post)
    return post
  }
}

/** The delivery is not to blame when the host does not show the post to a server. */
async function fetchShown(id: string, fetchDocument: FetchDocument): Promise<unknown> {
  try {
    const fetched = await fetchDocument(id)
    return fetched.state === 'found' ? fetched.document : undefined
  } catch (error) {
    if (error instanceof Undeliverable) return undefined
    throw error
  }
}
