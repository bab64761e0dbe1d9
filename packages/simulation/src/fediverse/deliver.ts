// Sends notes and other activities of a simulated actor to an agent's inbox.
import { randomInt } from 'node:crypto'
import type { LoopbackAnswer } from '../net/loopback-fetch.ts'
import type { ActivityDelivery, ActivityReceipt, SimActivity } from './actors/activity.ts'
import { composeSimActivity } from './actors/activity.ts'
import type { SimActor } from './actors/actor.ts'
import type { ActivityDocument, NoteFault, NotePlan, NoteVisibility } from './actors/note.ts'
import { composeCreateNote, noteFaults } from './actors/note.ts'
import type { ResolvedRecipient } from './actors/recipient.ts'
import { inventNeighbour } from './actors/recipient.ts'
import type { PostDeps } from './post.ts'
import { findActor, postSigned, stripAddressPrefix } from './post.ts'

export interface NoteDelivery
  extends Pick<ActivityDelivery, 'from' | 'to' | 'inbox' | 'fault'>,
    Pick<NotePlan, 'context' | 'conversation' | 'summary'> {
  readonly text: string
  /** The visibility. Default: public. */
  readonly visibility?: NoteVisibility | undefined
  /** The note that the new note answers. Its conversation and context are copied if the simulation has it. */
  readonly inReplyTo?: string | undefined
  /** Files that the author's server serves and the note names. */
  readonly files?: readonly ServedFile[] | undefined
  /** The id of the note, which is an address or its last segment. The activity's id adds `/activity`. */
  readonly id?: string | undefined
  /** The padding of the fault `oversized`, in bytes. Default: 2 MiB. */
  readonly oversizedBytes?: number | undefined
}

export interface ServedFile {
  readonly name: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface NoteReceipt extends LoopbackAnswer {
  readonly activityId: string
  readonly objectId: string
  readonly activity: ActivityDocument
}

export interface NoteSender extends PostDeps {
  /** The notes sent from here, by their id. */
  readonly notes: Map<string, ActivityDocument>
  /** The files of these notes, by their address. */
  readonly media: Map<string, ServedFile>
  resolve(address: string): Promise<ResolvedRecipient>
  /** Finds the conversation and context of a note that was sent from here or received. */
  findThread(objectId: string): Pick<NotePlan, 'context' | 'conversation'>
}

/** Composes, signs and posts one `Create{Note}`. */
export async function deliverNote(delivery: NoteDelivery, sender: NoteSender): Promise<NoteReceipt> {
  const { fault, author, recipient, url } = await prepareDelivery(delivery, sender)
  const activity = composeCreateNote(planNote(delivery, { author, recipient, sender }))
  sender.notes.set(activity.object.id, activity)
  const { oversizedBytes } = delivery
  const answer = await postSigned({ activity, author, url, fault, oversizedBytes }, sender)
  return { activityId: activity.id, objectId: activity.object.id, activity, ...answer }
}

/** Composes, signs and posts any other activity, and applies its effect to the notes of the simulation. */
export async function deliverSimActivity(delivery: ActivityDelivery, sender: NoteSender): Promise<ActivityReceipt> {
  const { fault, author, recipient, url } = await prepareDelivery(delivery, sender)
  const { type, object, fields = {} } = delivery
  const activity = composeSimActivity({ author, recipient: recipient.id, type, object, fields })
  if (!delivery.fault) noteChanges[type]?.(activity, sender.notes)
  return { activityId: activity.id, activity, ...(await postSigned({ activity, author, url, fault }, sender)) }
}

const noteChanges: Readonly<Record<string, (activity: SimActivity, notes: NoteSender['notes']) => void>> = {
  Update({ object }, notes) {
    const { id, ...changes } = object as { readonly id: string }
    const create = notes.get(id)
    if (create) notes.set(id, { ...create, object: { ...create.object, ...changes } })
  },
  Delete({ object }, notes) {
    notes.delete(typeof object === 'string' ? object : (object as { readonly id: string }).id)
  },
}

interface PreparedDelivery {
  readonly fault: NoteFault
  readonly author: SimActor
  readonly recipient: ResolvedRecipient
  /** The address of the inbox. */
  readonly url: string
}

async function prepareDelivery(
  delivery: NoteDelivery | ActivityDelivery,
  sender: NoteSender,
): Promise<PreparedDelivery> {
  const fault: NoteFault = delivery.fault ? noteFaults[delivery.fault] : {}
  const author = findActor(fault.author ?? delivery.from ?? 'alice@mastodon.test', sender)
  const resolvedRecipient = await sender.resolve(stripAddressPrefix(delivery.to))
  const recipient = fault.unknownRecipient ? inventNeighbour(resolvedRecipient) : resolvedRecipient
  const url = delivery.inbox === 'shared' ? (recipient.sharedInbox ?? recipient.inbox) : recipient.inbox
  return { fault, author, recipient, url }
}

/** Stores a file and returns the attachment in Mastodon's form. */
function storeFile(file: ServedFile, { host }: SimActor, { media }: NoteSender): object {
  const url = `https://${host}/media/${media.size + 1}`
  media.set(url, file)
  return { type: 'Document', mediaType: file.mediaType, url, name: file.name }
}

function planNote(
  delivery: NoteDelivery,
  { author, recipient, sender }: { author: SimActor; recipient: ResolvedRecipient; sender: NoteSender },
): NotePlan {
  const { text, visibility = 'public', id, inReplyTo, summary } = delivery
  const thread = inReplyTo ? sender.findThread(inReplyTo) : {}
  const now = sender.now()
  const attachment = (delivery.files ?? []).map(file => storeFile(file, author, sender))
  return {
    attachment,
    author,
    recipient,
    text,
    visibility,
    id: id?.startsWith('https:') ? id : undefined,
    inReplyTo,
    summary,
    // The id has the time and a random number, because a new simulation must not reuse an id that a gateway remembers from the last one.
    statusId: id?.match(/[^/]+$/)?.[0] ?? `${now}${randomInt(100_000, 1_000_000)}`,
    published: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    context: delivery.context ?? thread.context,
    conversation: delivery.conversation ?? thread.conversation,
  }
}
