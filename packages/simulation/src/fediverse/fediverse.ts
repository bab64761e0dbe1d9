import type { Disturbance } from '../net/disturbance.ts'
import { createDisturbances } from '../net/disturbance.ts'
import type { LoopbackFetch } from '../net/loopback-fetch.ts'
import { openLoopbackServer } from '../net/loopback-server.ts'
import type { ActivityDelivery, ActivityReceipt } from './actors/activity.ts'
import type { SimActor } from './actors/actor.ts'
import { createActors } from './actors/actor.ts'
import type { ActivityDocument } from './actors/note.ts'
import { fediverseHosts } from './actors/persona.ts'
import type { FetchActorDocument, ResolvedRecipient } from './actors/recipient.ts'
import { resolveRecipient } from './actors/recipient.ts'
import type { NoteDelivery, NoteReceipt, NoteSender } from './deliver.ts'
import { deliverNote, deliverSimActivity } from './deliver.ts'
import type { ReceivedActivity } from './inbox.ts'
import { createInbox } from './inbox.ts'
import { findActor } from './post.ts'
import { answerFediverse } from './routes.ts'
import type { DraftRequest } from './signatures/sign.ts'
import { signDraft } from './signatures/sign.ts'
import { createChecks } from './signatures/verify.ts'

/** A few small fediverse servers behind one port, told apart by `Host`. */
export interface SimFediverse {
  readonly port: number
  readonly hosts: readonly string[]
  /** Everybody who has an account, by `name@host`. */
  readonly actors: ReadonlyMap<string, SimActor>
  deliver(delivery: NoteDelivery): Promise<NoteReceipt>
  /** Anything but a new note: `{ to, type: 'Follow' }`. Signed and posted like it. */
  send(delivery: ActivityDelivery): Promise<ActivityReceipt>
  /** Everything that came to an inbox, the refused too. */
  readonly received: readonly ReceivedActivity[]
  /** The verified `Create` that answers the object `objectId`. @throws Error after `timeoutMs` */
  awaitReply(objectId: string, timeoutMs: number): Promise<ReceivedActivity>
  /** The first activity that matches, verified or not. @throws Error after `timeoutMs` */
  awaitActivity(match: (received: ReceivedActivity) => boolean, timeoutMs: number): Promise<ReceivedActivity>
  /** Signs any request as one of the actors: for traffic that `deliver` does not know. */
  sign(draft: Omit<DraftRequest, 'at'>, address: string): Promise<Record<string, string>>
  /** Lets a host misbehave; returns the function that fixes it. */
  disturb(host: string, disturbance: Disturbance): () => void
  /** Forgets what WebFinger said: the gateway has changed. */
  forgetRecipients(): void
  close(): Promise<void>
}

export async function openSimFediverse(loopback: LoopbackFetch): Promise<SimFediverse> {
  const actors = createActors()
  const reader = [...actors.values()][0] as SimActor
  const fetchDocument = createDocumentFetch(loopback, reader)
  const checks = createChecks(fetchDocument)
  const inbox = createInbox(checks)
  const notes = new Map<string, ActivityDocument>()
  const recipients = new Map<string, Promise<ResolvedRecipient>>()
  const misbehaviour = createDisturbances()
  for (const [host, { habits = [] }] of Object.entries(fediverseHosts)) {
    for (const habit of habits) misbehaviour.disturb(host, habit)
  }
  const media: NoteSender['media'] = new Map()
  const deps = { actors, inbox, notes, media, checks }
  const server = await openLoopbackServer(request => misbehaviour.pass(request, () => answerFediverse(request, deps)))
  const { arrivals } = inbox
  const sender: NoteSender = {
    actors,
    loopback,
    notes,
    media,
    resolve(address) {
      const known = recipients.get(address) ?? resolveRecipient(address, fetchDocument)
      recipients.set(address, known)
      known.catch(() => recipients.delete(address))
      return known
    },
    findThread: objectId => readThread(objectId, notes, arrivals.items),
  }
  return {
    port: server.port,
    hosts: Object.keys(fediverseHosts),
    actors,
    deliver: delivery => deliverNote(delivery, sender),
    send: delivery => deliverSimActivity(delivery, sender),
    received: arrivals.items,
    awaitReply: (objectId, timeoutMs) => arrivals.waitFor(received => isReplyTo(received, objectId), timeoutMs),
    awaitActivity: (match, timeoutMs) => arrivals.waitFor(match, timeoutMs),
    async sign(draft, address) {
      return signDraft({ ...draft, at: Date.now() }, findActor(address, sender))
    },
    disturb: misbehaviour.disturb,
    forgetRecipients: () => recipients.clear(),
    async close() {
      arrivals.close()
      misbehaviour.close()
      await server.close()
    },
  }
}

/** Reads documents with signed requests, as a server in secure mode is asked. */
function createDocumentFetch(loopback: LoopbackFetch, reader: SimActor): FetchActorDocument {
  async function read(url: string, redirects: number): Promise<Record<string, unknown>> {
    const { host, 'user-agent': agent, ...headers } = await signDraft({ method: 'GET', url, at: Date.now() }, reader)
    const accept = url.includes('/.well-known/webfinger') ? { accept: 'application/jrd+json' } : {}
    const answer = await loopback.request(url, { headers: { ...headers, 'user-agent': agent ?? '', ...accept } })
    const { status, body } = answer
    const location = status >= 300 && status < 400 ? answer.headers.get('location') : null
    if (location && redirects > 0) return read(new URL(location, url).href, redirects - 1)
    if (status !== 200) throw new Error(`${url} answered ${status}`)
    return JSON.parse(body)
  }
  return url => read(url, 1)
}

function isReplyTo({ verified, activity }: ReceivedActivity, objectId: string): boolean {
  const object = activity.object as Record<string, unknown> | undefined
  return verified && activity.type === 'Create' && object?.inReplyTo === objectId
}

function readThread(
  objectId: string,
  notes: ReadonlyMap<string, ActivityDocument>,
  received: readonly ReceivedActivity[],
): ReturnType<NoteSender['findThread']> {
  const isIt = ({ activity }: ReceivedActivity) => (activity.object as { id?: unknown } | undefined)?.id === objectId
  const object = notes.get(objectId)?.object ?? (received.find(isIt)?.activity.object as Record<string, unknown>)
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return { context: text(object?.context), conversation: text(object?.conversation) }
}
