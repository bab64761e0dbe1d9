// Chooses between documents for servers and pages for people, and answers with a document.

import { selectMediaType } from '@postern/http'
import type { Json } from '@postern/message'
import type { Context } from 'hono'
import { activityAccept, activityJson, activityJsonUtf8 } from '../format/media-types.ts'
import type { ReadAccess } from './read-access.ts'

type Audience = 'everybody' | 'signers'

export function chooseAudience({ requiresSignature }: Pick<ReadAccess, 'requiresSignature'>): Audience {
  return requiresSignature ? 'signers' : 'everybody'
}

/** The response headers for each audience. A cache must not serve a document that depends on the signature to another reader. */
const audienceHeaders: Readonly<Record<Audience, Readonly<Record<string, string>>>> = {
  everybody: { vary: 'Accept', 'cache-control': 'public, max-age=60' },
  signers: { vary: 'Accept, Signature, Signature-Input', 'cache-control': 'private, no-store' },
}

interface ActivityAnswerOptions {
  readonly audience?: Audience
  readonly status?: 200 | 410
}

export function answerActivity(context: Context, document: Json, options?: ActivityAnswerOptions): Response {
  const { status, headers, body } = renderActivity(document, options)
  return context.body(body, status, headers)
}

export function renderActivity(document: Json, { audience = 'everybody', status = 200 }: ActivityAnswerOptions = {}) {
  return {
    status,
    headers: { 'content-type': activityJsonUtf8, ...audienceHeaders[audience] },
    body: JSON.stringify(document),
  }
}

const [, ldJson = ''] = activityAccept.split(', ')

const activityTypes = [activityJson, ldJson, 'application/ld+json', 'text/html']

/**
 * Returns true if a request asks for an ActivityStreams document: it names such a type, and prefers that type to HTML or accepts HTML equally
 * (RFC 9110 §12.5.1).
 */
export function asksForActivity(accept: string | undefined): boolean {
  if (!accept || !/(activity|ld)\+json/i.test(accept)) return false
  return selectMediaType(accept, activityTypes) !== 'text/html'
}
