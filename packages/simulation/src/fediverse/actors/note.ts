// Composes a `Create` of a `Note` in the form of Mastodon, honest or with a fault.
import { escapeUTF8 as escapeHtml } from 'entities/escape'
import type { Fault } from '../../fault.ts'
import type { SimActor } from './actor.ts'

export const publicAddressee = 'https://www.w3.org/ns/activitystreams#Public'

export const noteVisibilities = ['public', 'unlisted', 'followers', 'direct'] as const

export type NoteVisibility = (typeof noteVisibilities)[number]

/** The agent that a note addresses, as its own server describes it. */
export interface NoteRecipient {
  readonly id: string
  readonly url: string
  /** The address, `name@domain`. */
  readonly address: string
}

export interface NotePlan {
  readonly author: SimActor
  readonly recipient: NoteRecipient
  readonly text: string
  readonly visibility: NoteVisibility
  /** The number in the note's address. */
  readonly statusId: string
  readonly id?: string | undefined
  /** The time in ISO 8601, UTC, in whole seconds. */
  readonly published: string
  readonly inReplyTo?: string | undefined
  readonly context?: string | undefined
  readonly conversation?: string | undefined
  /** A content warning. Absent if there is none. */
  readonly summary?: string | undefined
  readonly attachment?: readonly object[] | undefined
}

export type ActivityDocument = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly object: Readonly<Record<string, unknown>> & { readonly id: string }
}

const noteContext = [
  'https://www.w3.org/ns/activitystreams',
  {
    ostatus: 'http://ostatus.org#',
    atomUri: 'ostatus:atomUri',
    inReplyToAtomUri: 'ostatus:inReplyToAtomUri',
    conversation: 'ostatus:conversation',
    sensitive: 'as:sensitive',
    toot: 'http://joinmastodon.org/ns#',
    votersCount: 'toot:votersCount',
  },
]

const audiences: Record<NoteVisibility, (followers: string, recipient: string) => { to: string[]; cc: string[] }> = {
  public: (followers, recipient) => ({ to: [publicAddressee], cc: [followers, recipient] }),
  unlisted: (followers, recipient) => ({ to: [followers], cc: [publicAddressee, recipient] }),
  followers: (followers, recipient) => ({ to: [followers], cc: [recipient] }),
  direct: (_, recipient) => ({ to: [recipient], cc: [] }),
}

/** Composes a `Create` of a `Note` that mentions its recipient, in Mastodon's form. */
export function composeCreateNote(plan: NotePlan): ActivityDocument {
  const { author, recipient, statusId, published, inReplyTo = null, visibility } = plan
  const id = plan.id ?? `${author.id}/statuses/${statusId}`
  const audience = audiences[visibility](`${author.id}/followers`, recipient.id)
  const publishedDay = published.slice(0, 10)
  const content = `<p>${formatMention(recipient)} ${formatText(plan.text)}</p>`
  return {
    '@context': noteContext,
    id: `${id}/activity`,
    type: 'Create',
    actor: author.id,
    published,
    ...audience,
    object: {
      id,
      type: 'Note',
      summary: plan.summary ?? null,
      inReplyTo,
      published,
      url: `https://${author.host}/@${author.name}/${statusId}`,
      attributedTo: author.id,
      ...audience,
      sensitive: plan.summary !== undefined,
      atomUri: id,
      inReplyToAtomUri: inReplyTo,
      conversation:
        plan.conversation ?? `tag:${author.host},${publishedDay}:objectId=${statusId}:objectType=Conversation`,
      context: plan.context ?? `https://${author.host}/contexts/${statusId}`,
      content,
      contentMap: { en: content },
      attachment: plan.attachment ?? [],
      tag: [{ type: 'Mention', href: recipient.id, name: `@${recipient.address}` }],
      replies: describeReplies(id),
    },
  }
}

function describeReplies(id: string): Record<string, unknown> {
  const collection = `${id}/replies`
  const firstPage = { type: 'CollectionPage', next: `${collection}?page=true`, partOf: collection, items: [] }
  return { id: collection, type: 'Collection', first: firstPage }
}

function formatMention({ url, address }: NoteRecipient): string {
  const name = escapeHtml(address.split('@')[0] ?? address)
  return `<span class="h-card" translate="no"><a href="${escapeHtml(url)}" class="u-url mention">@<span>${name}</span></a></span>`
}

function formatText(text: string): string {
  return escapeHtml(text)
    .replace(/\n{2,}/g, '</p><p>')
    .replace(/\n/g, '<br />')
}

type Encodable = Readonly<Record<string, unknown>>

/** The differences of a faulty delivery from an honest one. */
export interface NoteFault {
  /** The actor that the activity names. */
  readonly author?: string
  /** The actor that signs, according to the key id. */
  readonly signer?: string
  /** The actor whose key signs. Default: the signer. */
  readonly keyOf?: string
  /** True to omit the signature. */
  readonly isUnsigned?: boolean
  /** The shift of `Date`, ms. */
  readonly dateShiftMs?: number
  /** True to send the same request twice. The second answer counts. */
  readonly isSentTwice?: boolean
  /** True to address an agent that does not exist. */
  readonly unknownRecipient?: boolean
  /** Encodes the signed octets, if they are not the plain JSON. */
  encode?(activity: Encodable, oversizedBytes: number): Buffer
  /** Alters the octets after signing. */
  alter?(octets: Buffer): Buffer
}

const dayMs = 86_400_000

/** The faults of notes. A faulty note is correct except for the fault in its name. */
export const noteFaults: Readonly<Record<Fault, NoteFault>> = {
  unsigned: { isUnsigned: true },
  tampered: { alter: octets => Buffer.from(octets.toString().replaceAll('<p>', '<p>Altered: ')) },
  forged: { keyOf: 'mallory@evil.test' },
  expired: { dateShiftMs: -2 * dayMs },
  replayed: { isSentTwice: true },
  wrong_owner: { signer: 'mallory@evil.test' },
  oversized: { encode: (activity, bytes) => encodeJson({ ...activity, padding: 'x'.repeat(bytes) }) },
  deep: { encode: activity => nestActivity(activity, 2_000) },
  malformed: { encode: activity => encodeJson(activity).subarray(0, -1) },
  key_host_down: { author: 'alice@dead.test', signer: 'alice@dead.test' },
  unknown_recipient: { unknownRecipient: true },
}

function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

/** Nests an activity as text, because formatting a value of such depth would exhaust our stack. */
function nestActivity(activity: Encodable, depth: number): Buffer {
  const text = JSON.stringify(activity).slice(0, -1)
  return Buffer.from(`${text},"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`)
}
