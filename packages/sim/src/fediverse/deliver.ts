import { randomInt } from 'node:crypto'
import type { Fault } from '../fault.ts'
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { SimActor } from './actor.ts'
import type { ActivityDocument, NotePlan, NoteVisibility } from './note.ts'
import { composeCreateNote } from './note.ts'
import type { NoteFault } from './note-fault.ts'
import { noteFaults } from './note-fault.ts'
import type { ResolvedRecipient } from './recipient.ts'
import { inventNeighbour } from './recipient.ts'
import type { DraftRequest } from './sign.ts'
import { draftHeaders, signDraft } from './sign.ts'

export interface NoteDelivery {
  /** `alice@mastodon.test` unless said otherwise. */
  readonly from?: string | undefined
  /** `@echo@agents.test` */
  readonly to: string
  readonly text: string
  /** Default public. */
  readonly visibility?: NoteVisibility | undefined
  /** The note answered; its conversation and context are taken over when it is known here. */
  readonly inReplyTo?: string | undefined
  readonly context?: string | undefined
  readonly conversation?: string | undefined
  /** A content warning. */
  readonly summary?: string | undefined
  readonly fault?: Fault | undefined
  /** Default the agent's own. */
  readonly inbox?: 'actor' | 'shared' | undefined
  /** Of the note: an address, or its last segment. The activity's is this with `/activity`. */
  readonly id?: string | undefined
  /** Padding of the fault `oversized`; default 2 MiB. */
  readonly oversizedBytes?: number | undefined
}

export interface NoteReceipt {
  readonly activityId: string
  readonly objectId: string
  readonly activity: ActivityDocument
  /** What the gateway answered. */
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

export interface NoteSender {
  readonly actors: ReadonlyMap<string, SimActor>
  readonly loopback: LoopbackFetch
  /** Notes sent from here, by their id. */
  readonly notes: Map<string, ActivityDocument>
  now(): number
  resolve(address: string): Promise<ResolvedRecipient>
  /** Conversation and context of a note sent from here or received. */
  findThread(objectId: string): Pick<NotePlan, 'context' | 'conversation'>
}

/** Composes, signs and posts one `Create{Note}`. */
export async function deliverNote(delivery: NoteDelivery, sender: NoteSender): Promise<NoteReceipt> {
  const fault: NoteFault = delivery.fault ? noteFaults[delivery.fault] : {}
  const author = findActor(fault.author ?? delivery.from ?? 'alice@mastodon.test', sender)
  const resolved = await sender.resolve(bareAddress(delivery.to))
  const recipient = fault.unknownRecipient ? inventNeighbour(resolved) : resolved
  const activity = composeCreateNote(planNote(delivery, { author, recipient, sender }))
  sender.notes.set(activity.object.id, activity)
  const octets = fault.encode?.(activity, delivery.oversizedBytes ?? 2 ** 21) ?? Buffer.from(JSON.stringify(activity))
  const url = delivery.inbox === 'shared' ? (recipient.sharedInbox ?? recipient.inbox) : recipient.inbox
  const draft = { method: 'POST', url, body: octets, at: sender.now() + (fault.dateShiftMs ?? 0) } as const
  const headers = await sealDraft(draft, fault, author, sender)
  const post = () =>
    sender.loopback.request(url, { method: 'POST', headers, body: fault.alter?.(octets) ?? octets, timeoutMs: 30_000 })
  if (fault.twice) await post()
  return describeReceipt(activity, await post())
}

async function sealDraft(
  draft: DraftRequest,
  fault: NoteFault,
  author: SimActor,
  sender: NoteSender,
): Promise<Record<string, string>> {
  const { persona } = author
  if (fault.unsigned) return draftHeaders(draft, `${persona.software}/${persona.version}`)
  const signer = fault.signer ? findActor(fault.signer, sender) : author
  const stranger = fault.keyOf ? await findActor(fault.keyOf, sender).key() : undefined
  return signDraft(draft, signer, stranger?.privatePem)
}

function planNote(
  delivery: NoteDelivery,
  { author, recipient, sender }: { author: SimActor; recipient: ResolvedRecipient; sender: NoteSender },
): NotePlan {
  const { text, visibility = 'public', id, inReplyTo, summary } = delivery
  const thread = inReplyTo ? sender.findThread(inReplyTo) : {}
  const now = sender.now()
  return {
    author,
    recipient,
    text,
    visibility,
    id: id?.startsWith('https:') ? id : undefined,
    inReplyTo,
    summary,
    // Time and chance: a world opened anew must not reuse what a gateway remembers from the last one.
    statusId: id?.match(/[^/]+$/)?.[0] ?? `${now}${randomInt(100_000, 1_000_000)}`,
    published: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    context: delivery.context ?? thread.context,
    conversation: delivery.conversation ?? thread.conversation,
  }
}

function describeReceipt(activity: ActivityDocument, { status, headers, body }: LoopbackAnswer): NoteReceipt {
  return { activityId: activity.id, objectId: activity.object.id, activity, status, headers, body: body.toString() }
}

function findActor(address: string, { actors }: Pick<NoteSender, 'actors'>): SimActor {
  const actor = actors.get(bareAddress(address))
  if (!actor) throw new Error(`Nobody is called ${address} here; there are ${[...actors.keys()].join(', ')}`)
  return actor
}

/** `@echo@agents.test`, `acct:echo@agents.test` → `echo@agents.test` */
export function bareAddress(address: string): string {
  return address.replace(/^acct:/, '').replace(/^@/, '')
}
