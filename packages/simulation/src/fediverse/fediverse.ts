// Opens several simulated fediverse servers behind one port, distinguished by the `Host` header.
import type { Arrivals } from '../arrivals.ts'
import type { Disturbance } from '../net/disturbance.ts'
import { createDisturbances } from '../net/disturbance.ts'
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
import { createFollows } from './follows.ts'
import type { ReceivedActivity } from './inbox.ts'
import { createInbox } from './inbox.ts'
import type { PostDeps } from './post.ts'
import { findActor } from './post.ts'
import { answerFediverse } from './routes.ts'
import type { RequestDraft } from './signatures/sign.ts'
import { signRequest } from './signatures/sign.ts'
import { createChecks } from './signatures/verify.ts'

/** Several small fediverse servers behind one port, distinguished by `Host`. */
export interface SimFediverse {
  readonly port: number
  readonly hosts: readonly string[]
  /** All actors, by `name@host`. */
  readonly actors: ReadonlyMap<string, SimActor>
  deliver(delivery: NoteDelivery): Promise<NoteReceipt>
  /** Sends any activity except a new note, such as `{ to, type: 'Follow' }`. It is signed and posted like a note. */
  send(delivery: ActivityDelivery): Promise<ActivityReceipt>
  /** Every activity that arrived at an inbox, including refused ones. */
  readonly received: readonly ReceivedActivity[]
  /** Waits for the verified `Create` that answers the object `objectId`. `until` is a time in ms, or a signal. @throws Error when the wait ends */
  awaitReply(objectId: string, until: number | AbortSignal): Promise<ReceivedActivity>
  /** Waits for the first activity that matches, verified or not. `until` is a time in ms, or a signal. @throws Error when the wait ends */
  awaitActivity(
    match: (receivedActivity: ReceivedActivity) => boolean,
    until: number | AbortSignal,
  ): Promise<ReceivedActivity>
  /** Follows an agent, and waits until the agent accepts. @throws Error when the agent does not accept */
  follow(from: string, to: string): Promise<void>
  /** Lists every verified activity that reached the inbox of an actor, even through the shared inbox. */
  listReceived(address: string): readonly ReceivedActivity[]
  /** Signs any request as one of the actors, for traffic that `deliver` does not support. */
  sign(draft: Omit<RequestDraft, 'sentAt'>, address: string): Promise<Record<string, string>>
  /** Starts a disturbance of a host. Returns the function that ends the disturbance. */
  disturb(host: string, disturbance: Disturbance): () => void
  /** Forgets the results of WebFinger, because the gateway has changed. */
  forgetRecipients(): void
  close(): Promise<void>
}

export async function openSimFediverse({ loopback, now }: Pick<PostDeps, 'loopback' | 'now'>): Promise<SimFediverse> {
  const actors = createActors()
  const reader = [...actors.values()][0] as SimActor
  const fetchDocument = createDocumentFetch({ loopback, now }, reader)
  const checks = createChecks(fetchDocument, now)
  const inbox = createInbox(checks)
  const notes = new Map<string, ActivityDocument>()
  const recipients = new Map<string, Promise<ResolvedRecipient>>()
  const activeDisturbances = createDisturbances()
  for (const [host, { permanentDisturbances = [] }] of Object.entries(fediverseHosts)) {
    for (const disturbance of permanentDisturbances) activeDisturbances.disturb(host, disturbance)
  }
  const media: NoteSender['media'] = new Map()
  const deps = { actors, inbox, notes, media, checks }
  const server = await openLoopbackServer(request =>
    activeDisturbances.pass(request, () => answerFediverse(request, deps)),
  )
  const { arrivals } = inbox
  const sender: NoteSender = {
    actors,
    loopback,
    now,
    notes,
    media,
    resolve(address) {
      const recipient = recipients.get(address) ?? resolveRecipient(address, fetchDocument)
      recipients.set(address, recipient)
      recipient.catch(() => recipients.delete(address))
      return recipient
    },
    findThread: objectId => readThread(objectId, notes, arrivals.items),
  }
  return {
    port: server.port,
    hosts: Object.keys(fediverseHosts),
    actors,
    deliver: delivery => deliverNote(delivery, sender),
    ...createActivitySender(sender, arrivals),
    received: arrivals.items,
    awaitReply: (objectId, until) => arrivals.waitFor(receivedActivity => isReplyTo(receivedActivity, objectId), until),
    awaitActivity: (match, until) => arrivals.waitFor(match, until),
    async sign(draft, address) {
      return signRequest({ ...draft, sentAt: now() }, findActor(address, sender))
    },
    disturb: activeDisturbances.disturb,
    forgetRecipients: () => recipients.clear(),
    async close() {
      arrivals.close()
      activeDisturbances.close()
      await server.close()
    },
  }
}

/** The longest wait until an agent accepts a follow, ms. */
const acceptMs = 30_000

/** Sends activities that are not notes, and applies their effects on the inboxes. */
function createActivitySender(
  sender: NoteSender,
  arrivals: Arrivals<ReceivedActivity>,
): Pick<SimFediverse, 'send' | 'follow' | 'listReceived'> {
  const follows = createFollows(arrivals.items)
  const send: SimFediverse['send'] = async delivery => {
    const receipt = await deliverSimActivity(delivery, sender)
    if (delivery.from !== undefined) follows.record(findActor(delivery.from, sender), receipt.activity)
    return receipt
  }
  return {
    send,
    async follow(from, to) {
      const { activityId, status, body } = await send({ from, to, type: 'Follow' })
      if (status >= 300) throw new Error(`${to} does not accept the follow of ${from}: ${status} ${body}`)
      await arrivals.waitFor(() => follows.isAccepted(activityId), acceptMs)
    },
    listReceived(address) {
      const actor = findActor(address, sender)
      return arrivals.items.filter(
        receivedActivity => receivedActivity.verified && follows.reaches(receivedActivity, actor),
      )
    },
  }
}

/** Creates a function that fetches documents with signed requests, as servers in secure mode require. */
function createDocumentFetch(
  { loopback, now }: Pick<PostDeps, 'loopback' | 'now'>,
  reader: SimActor,
): FetchActorDocument {
  async function readDocument(url: string, redirects: number): Promise<Record<string, unknown>> {
    const { host, 'user-agent': agent, ...headers } = await signRequest({ method: 'GET', url, sentAt: now() }, reader)
    const accept = url.includes('/.well-known/webfinger') ? { accept: 'application/jrd+json' } : {}
    const answer = await loopback.request(url, { headers: { ...headers, 'user-agent': agent ?? '', ...accept } })
    const { status, body } = answer
    const location = status >= 300 && status < 400 ? answer.headers.get('location') : null
    if (location && redirects > 0) return readDocument(new URL(location, url).href, redirects - 1)
    if (status !== 200) throw new Error(`${url} answered ${status}`)
    return JSON.parse(body)
  }
  return url => readDocument(url, 1)
}

function isReplyTo({ verified, activity }: ReceivedActivity, objectId: string): boolean {
  const object = activity.object as Record<string, unknown> | undefined
  return verified && activity.type === 'Create' && object?.inReplyTo === objectId
}

function readThread(
  objectId: string,
  notes: ReadonlyMap<string, ActivityDocument>,
  receivedActivities: readonly ReceivedActivity[],
): ReturnType<NoteSender['findThread']> {
  const hasObjectId = ({ activity }: ReceivedActivity) =>
    (activity.object as { id?: unknown } | undefined)?.id === objectId
  const object =
    notes.get(objectId)?.object ?? (receivedActivities.find(hasObjectId)?.activity.object as Record<string, unknown>)
  const readText = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return { context: readText(object?.context), conversation: readText(object?.conversation) }
}
