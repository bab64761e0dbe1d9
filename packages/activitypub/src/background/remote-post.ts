import type { Part } from '@postern/core'
import { Undeliverable } from '@postern/core'
import { checkPost, isReadablePost } from '../format/activity.ts'
import type { Iri } from '../format/iri.ts'
import { isOnOrigin, parseIri } from '../format/iri.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, idOf, idsOf, textOf } from '../format/reading.ts'
import { isOpen, readVisibility } from '../format/visibility.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import { isBlockedPart } from '../peers/blocklist.ts'
import { readNote } from '../posts/note-reading.ts'

/** A post of a peer, as its own server shows it to everyone. */
export interface RemotePost {
  readonly id: string
  readonly author: Iri
  readonly parts: readonly Part[]
  readonly inReplyTo: string | undefined
  /** The publication date that its server gives, ms. */
  readonly published: number | undefined
}

/** UTF-16 code units of one post's text; the rest of a longer one is cut off. */
const maxText = 16_384
/** Of the attachments: how many, and UTF-16 code units of each as JSON. */
const maxAttached = { parts: 16, size: 4_096 } as const

const nobodyHere = { isOwnMention: () => false, addresses: [] }

/**
 * Reads a post fetched from the origin of `iri`. It takes public posts only: what our server may read is not meant for
 * everyone who names it in a reply.
 * @throws Undeliverable it is not that post, no post, or not public
 * @throws Rejection `malformed`, `too_large`
 */
export function parsePost(document: unknown, iri: Iri, isBlocked: IsBlocked): RemotePost {
  const json = asObject(document)
  if (!json || json.id !== iri.href) throw refusePost('the document is of another post')
  if (!isReadablePost(json)) throw refusePost('the document is no post')
  checkPost(json)
  const visibility = readVisibility(json, undefined)
  if (!visibility || !isOpen(visibility)) throw refusePost('it is not for everybody')
  return {
    id: iri.href,
    author: readAuthor(json, iri),
    parts: readParts(json, isBlocked),
    inReplyTo: idOf(json.inReplyTo),
    published: readTime(json.published),
  }
}

/** Another id that a document fetched from `iri` has on the same origin: a page's address leads to it. */
export function findCanonicalIri(document: unknown, iri: Iri): Iri | undefined {
  const id = textOf(asObject(document)?.id)
  return id && id !== iri.href && isOnOrigin(id, iri.origin) ? parseIri(id, "the post's id") : undefined
}

/** Only an actor of its own origin can have written it (FEP-fe34). */
function readAuthor(json: JsonObject, { origin }: Iri): Iri {
  const author = idsOf(json.attributedTo).find(id => isOnOrigin(id, origin))
  if (!author) throw refusePost('it is attributed to nobody on its own host')
  return parseIri(author, "the post's author")
}

/** Text without what was hidden; quotes, links and files stay addresses, and those of blocked hosts are left out. */
function readParts(json: JsonObject, isBlocked: IsBlocked): readonly Part[] {
  const [spoken, ...attached] = readNote(json, nobodyHere).parts
  const kept = attached
    .filter(part => !isBlockedPart(part, isBlocked) && JSON.stringify(part).length <= maxAttached.size)
    .slice(0, maxAttached.parts)
  return spoken?.kind === 'text' ? [{ ...spoken, content: cutText(spoken.content) }, ...kept] : kept
}

/** Never within a surrogate pair. */
function cutText(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText).replace(/[\ud800-\udbff]$/, '')} […]`
}

function readTime(value: unknown): number | undefined {
  const time = Date.parse(textOf(value) ?? '')
  return Number.isNaN(time) ? undefined : time
}

function refusePost(problem: string): Undeliverable {
  return new Undeliverable(`Cannot read post: ${problem}`)
}
