// Fills a store with messages, answers and deliveries through its own port.
import { hash } from 'node:crypto'
import type { Answer, Intake, LeaseRequest, Store, Turn } from '@postern/pipeline'
import { addressAgent, formatCreateNote } from '../activitypub/traffic.ts'
import { gatewayHost } from '../ours/open.ts'

/** The number of messages that share one commit. */
const portion = 250
const lease = { holder: 'stock', limit: portion, leaseMs: 600_000 } satisfies LeaseRequest

export interface Cost {
  /** The CPU time of the whole process, µs. */
  readonly cpuMicros: number
  readonly wallMicros: number
}

/** Stores messages `from` … `to - 1` through the store's own port: admitted, answered, delivered. */
export async function stockStore(store: Store, from: number, to: number): Promise<void> {
  for (let position = from; position < to; position += portion) {
    await admitPortion(store, position, Math.min(portion, to - position))
    await finishPortion(store)
  }
}

/** Measures the cost of admitting each of `count` messages; answering and delivering them afterwards does not count. */
export async function measureAdmission(store: Store, from: number, count: number): Promise<Cost> {
  let cpu = 0
  let wall = 0
  for (let position = from; position < from + count; position += portion) {
    const cpuBefore = process.cpuUsage()
    const wallBefore = performance.now()
    await admitPortion(store, position, portion)
    const { user, system } = process.cpuUsage(cpuBefore)
    cpu += user + system
    wall += (performance.now() - wallBefore) * 1000
    await finishPortion(store)
  }
  return { cpuMicros: cpu / count, wallMicros: wall / count }
}

async function admitPortion(store: Store, from: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.admit(makeIntake(from + index), `bench-${from + index}`)),
  )
}

/** Works until nothing is left to do, because only one turn of a thread is ready at a time. */
async function finishPortion(store: Store): Promise<void> {
  while (true) {
    const turns = await store.leaseTurns(lease)
    await Promise.all(turns.map(turn => store.commit(turn, makeAnswer(turn))))
    const deliveries = await store.leaseDeliveries({ ...lease, rank: 'answer' })
    const sentOutcome = { state: 'sent', wire: { type: 'Create' }, note: 'answered 202' } as const
    await Promise.all(deliveries.map(delivery => store.settle(delivery, sentOutcome)))
    if (turns.length === 0 && deliveries.length === 0) return
  }
}

export const answeringAgent = 'brief'
const people = 5_000
/** The interval, in messages, at which a new conversation begins; the others continue one that is at most `reach` messages old. */
const newThreadEvery = 2
const maxReplyDistance = 2_000
const recipientOf = (agent: string) => `@${agent}@${gatewayHost}`

/** Makes the message of this number in the form of the ActivityPub channel: from one of thousands of people, half of them replies. */
export function makeIntake(sequenceNumber: number, agent = answeringAgent): Intake {
  const host = `people-${sequenceNumber % 500}.test`
  const actorId = `https://${host}/users/user${sequenceNumber % people}`
  const object = objectOf(sequenceNumber)
  const earlierObject = sequenceNumber % newThreadEvery === 0 ? undefined : objectOf(pickEarlier(sequenceNumber))
  const bytes = Buffer.from(formatCreateNote({ host, actorId }, addressAgent(agent), String(sequenceNumber)))
  return {
    agent,
    message: {
      id: `${object}/activity`,
      thread_source: earlierObject ?? `tag:${host},2026-01-01:objectId=${sequenceNumber}:objectType=Conversation`,
      ...(earlierObject && { in_reply_to: earlierObject }),
      sender: {
        address: `@user${sequenceNumber % people}@${host}`,
        display_name: `Person ${sequenceNumber % people}`,
        auth_method: 'ap-http-signature',
        verified: true,
        key_id: `${actorId}#main-key`,
      },
      recipient: recipientOf(agent),
      parts: [{ kind: 'text', mime: 'text/plain', content: 'When does the last train back from the coast leave?' }],
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
      },
      received_via: 'activitypub',
      received_at: new Date().toISOString(),
      kind: 'message',
    },
    duplicateKey: `${object}/activity`,
    thread: { scope: 'public', references: earlierObject ? [earlierObject] : [] },
    aliases: [object],
    authorship: { author: actorId, object },
    proofs: [
      { kind: 'http-signature', verdict: 'pass', key_id: `${actorId}#main-key` },
      { kind: 'digest', verdict: 'pass' },
    ],
    raw: { bytes, form: 'json' },
    target: { actor: actorId, inbox: `${actorId}/inbox`, object, visibility: 'public' },
    disposition: 'answer',
  }
}

/** Makes the agent's answer to a turn, with its delivery. */
function makeAnswer({ content, message }: Turn): Answer {
  const id = hash('sha256', String(message)).slice(0, 32)
  const inbox = `https://${content.sender.address.split('@')[2]}/inbox`
  return {
    response: {
      id,
      thread_id: content.thread_id,
      in_reply_to: content.id,
      sender: recipientOf(answeringAgent),
      parts: [{ kind: 'text', mime: 'text/markdown', content: 'At 21:40; bicycles travel free.' }],
      status: 'completed',
      created_at: new Date().toISOString(),
    },
    aliases: [`https://${gatewayHost}/agents/${answeringAgent}/posts/${id}`],
    isListed: true,
    deliveries: [{ to: inbox, target: { reply: { visibility: 'public' }, inbox } }],
  }
}

function objectOf(sequenceNumber: number): string {
  return `https://people-${sequenceNumber % 500}.test/users/user${sequenceNumber % people}/statuses/${sequenceNumber}`
}

/** Picks an earlier message, spread evenly, and the same in every run. */
function pickEarlier(sequenceNumber: number): number {
  const step = 1 + ((sequenceNumber * 7_919) % maxReplyDistance)
  return Math.max(0, sequenceNumber - step)
}
