// Plays recorded activities of many kinds of servers to a gateway.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentPost } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import { performActions } from '@postern/pipeline'
import type { ActivityPubGateway } from './gateway.ts'
import { openActivityPubGateway } from './gateway.ts'
import { testKey } from './keys.ts'
import type { Peer } from './peer.ts'
import { openPeer } from './peer.ts'
import type { PeerAccount } from './person.ts'
import { postActivity } from './person.ts'

export type Document = Readonly<Record<string, unknown>>

/** Activities in the order in which they were sent, and their expected readings. */
interface PayloadCase {
  readonly title: string
  readonly activities: readonly Document[]
  readonly expected: PayloadReading
}

/** The result of reading the activities, as an agent and an operator see it. */
export interface PayloadReading {
  /** The answers, one for each activity. */
  readonly answers: readonly string[]
  /** The messages, oldest first. */
  readonly messages: readonly Document[]
}

const root = fileURLToPath(new URL('../../../fixtures/activitypub/', import.meta.url))
const readJson = <Value>(path: string): Value => JSON.parse(readFileSync(path, 'utf8')) as Value
const foldersOf = (path: string) =>
  readdirSync(path, { withFileTypes: true }).flatMap(entry => (entry.isDirectory() ? [entry.name] : []))

/** Reads the actors in a folder of payloads: `<software>/actors/*.json`, as their servers show them. */
export function readPayloadActors(folder: string): readonly Document[] {
  return foldersOf(join(root, folder)).flatMap(software => {
    const actors = join(root, folder, software, 'actors')
    return existsSync(actors) ? readdirSync(actors).map(name => readJson<Document>(join(actors, name))) : []
  })
}

/** Reads the cases of a folder: `<software>/<case>/activity.json`, or `activities.json` if there are several, and `expected.json`. */
export function readPayloadCases(folder: string): readonly PayloadCase[] {
  return foldersOf(join(root, folder)).flatMap(software =>
    foldersOf(join(root, folder, software))
      .filter(name => name !== 'actors')
      .map(name => readCase(join(root, folder, software, name), `${software}: ${name.replaceAll('-', ' ')}`)),
  )
}

function readCase(path: string, title: string): PayloadCase {
  const single = join(path, 'activity.json')
  const activities = existsSync(single)
    ? [readJson<Document>(single)]
    : readJson<Document[]>(join(path, 'activities.json'))
  return { title, activities, expected: readJson(join(path, 'expected.json')) }
}

interface CapturedCase extends PayloadCase {
  readonly actors: readonly Document[]
  /** The ids of the agent's own posts that the actors like and boost. */
  readonly posts: readonly string[]
}

/** Reads the posts of the real snac2 in one run, and its actors. */
export function readSnacCase(): CapturedCase {
  const folder = join(root, 'snac2/2.75')
  const readBody = (name: string) => {
    const captured = readJson<{ readonly body: string }>(join(folder, name))
    return JSON.parse(captured.body) as Document
  }
  const requests = readdirSync(folder).filter(name => /^\d\d-/.test(name))
  const activities = requests.toSorted().map(readBody)
  return {
    title: 'snac2',
    actors: ['actor.json', 'bob.json'].map(readBody),
    posts: activities.filter(({ type }) => type === 'Like').map(({ object }) => String(object).split('/').at(-1) ?? ''),
    activities,
    expected: readJson(join(folder, 'expected.json')),
  }
}

export interface PayloadStage {
  readonly gateway: ActivityPubGateway
  /** Makes posts of the agent under these ids. */
  post(ids: readonly string[]): Promise<void>
  /** Sends each as its actor to the shared inbox, and returns how everything was read. */
  play(activities: readonly Document[]): Promise<PayloadReading>
  close(): Promise<void>
}

/**
 * Opens a gateway, and servers that show these actors. Their private keys are unknown here. So each actor lists a test key in place of its own,
 * under the same id, and nothing else changes.
 */
export async function openPayloadStage(actors: readonly Document[]): Promise<PayloadStage> {
  const hosts = actors.map(({ id }) => new URL(String(id)).host)
  const peer = await openPeer([...new Set(hosts)])
  const gateway = await openActivityPubGateway({ loopback: peer.loopback })
  const people = new Map(actors.map(document => [document.id, settleActor(peer, document)]))
  serveHandles(peer, [...people.values()])

  async function play(activities: readonly Document[]): Promise<PayloadReading> {
    const answers: string[] = []
    for (const activity of activities) {
      const author = people.get(idOfActor(activity))
      if (!author) throw new Error(`nobody is ${idOfActor(activity)}`)
      const { status, code } = await postActivity(gateway, author, activity, { path: '/inbox' })
      answers.push(code ? `${status} ${code}` : `${status}`)
    }
    return { answers, messages: await readMessages(gateway) }
  }

  return {
    gateway,
    post: ids => postBefore(ids, gateway),
    play,
    async close() {
      await gateway.close()
      await peer.close()
    },
  }
}

async function postBefore(ids: readonly string[], { store, system, channel }: ActivityPubGateway): Promise<void> {
  const acts = ids.map(
    (id): AgentPost => ({ act: 'post', id, parts: [{ kind: 'text', mime: 'text/plain', content: 'hello' }] }),
  )
  await performActions(acts, { agent: 'echo', address: '@echo@agents.test' }, { store, system, channels: [channel] })
}

function idOfActor({ actor: actorValue }: Document): unknown {
  const [actor] = [actorValue].flat()
  return typeof actor === 'object' && actor !== null ? (actor as Document).id : actor
}

function settleActor(peer: Peer, document: Document): PeerAccount {
  const id = String(document.id)
  const key = testKey('somebody')
  const [listed] = [document.publicKey].flat() as Document[]
  const publicKey: Document = { ...listed, publicKeyPem: key.publicPem }
  const servedDocument = { ...document, publicKey }
  peer.serve(id.replace(/\?.*/, ''), { body: servedDocument })
  const host = new URL(id).host
  return {
    name: String(document.preferredUsername),
    host,
    id,
    keyId: String(publicKey.id),
    key,
    document: servedDocument,
  }
}

/** Makes each host confirm its own names. */
function serveHandles(peer: Peer, people: readonly PeerAccount[]): void {
  for (const host of new Set(people.map(person => person.host))) {
    peer.serve(`https://${host}/.well-known/webfinger`, ({ query }) => {
      const resource = new URLSearchParams(query).get('resource')
      const person = people.find(each => resource === `acct:${each.name}@${each.host}`)
      if (!person) return { status: 404 }
      const links = [{ rel: 'self', type: 'application/activity+json', href: person.id }]
      return { type: 'application/jrd+json', body: { subject: resource, links } }
    })
  }
}

/** Reads the messages, oldest first. Threads are numbered in the order of their first message. */
async function readMessages(gateway: ActivityPubGateway): Promise<readonly Document[]> {
  const list = await gateway.store.listMessages({ limit: 1_000 })
  const records = (await Promise.all(list.map(({ id }) => gateway.store.findMessage(id))))
    .filter(record => record !== undefined)
    // The agent's own posts are not received messages.
    .filter(({ flags }) => !flags.includes('post'))
    .toReversed()
  const threads = [...new Set(records.map(({ thread }) => thread))]
  return Promise.all(
    records.map(async record => ({
      ...readRecord(record),
      thread: threads.indexOf(record.thread) + 1,
      ...(await readTarget(gateway, record)),
    })),
  )
}

function readRecord({ message, flags, state }: MessageRecord): Document {
  const { id, kind, thread_source, in_reply_to, sender, recipient, parts } = message
  return {
    id,
    kind,
    from: sender.address,
    display_name: sender.display_name,
    language: sender.profile?.locale,
    to: recipient,
    thread_source,
    in_reply_to,
    parts,
    ...(flags.length > 0 && { flags }),
    ...(state !== 'received' && { state }),
  }
}

/** Reads the data from which an answer is made. */
async function readTarget({ store }: ActivityPubGateway, { message }: MessageRecord): Promise<Document> {
  const foundMessage = await store.findMessageTo('echo', message.id)
  const { visibility, summary, sensitive } = (foundMessage?.target ?? {}) as Document
  return { visibility, summary, sensitive }
}
