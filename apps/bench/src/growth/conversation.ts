import { createHash } from 'node:crypto'
import type { Answer, Intake, Turn } from '@postern/core'
import { formatCreateNote } from '../activitypub/create-note.ts'
import { addressAgent } from '../activitypub/traffic.ts'
import { gatewayHost } from '../ours/describe.ts'

export const answering = 'brief'
const people = 5_000
/** Every how many messages somebody begins a new conversation; the others go on with one that is up to this many old. */
const newThreadEvery = 2
const reach = 2_000
const recipientOf = (agent: string) => `@${agent}@${gatewayHost}`

/** The message of this number as the ActivityPub door hands it in: from one of thousands of people, half of them replies. */
export function makeIntake(number: number, agent = answering): Intake {
  const host = `people-${number % 500}.test`
  const actorId = `https://${host}/users/user${number % people}`
  const object = objectOf(number)
  const earlier = number % newThreadEvery === 0 ? undefined : objectOf(pickEarlier(number))
  const bytes = Buffer.from(formatCreateNote({ host, actorId }, addressAgent(agent), String(number)))
  return {
    agent,
    message: {
      id: `${object}/activity`,
      thread_id: earlier ?? `tag:${host},2026-01-01:objectId=${number}:objectType=Conversation`,
      ...(earlier && { in_reply_to: earlier }),
      sender: {
        address: `@user${number % people}@${host}`,
        display_name: `Person ${number % people}`,
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
    thread: { scope: 'public', references: earlier ? [earlier] : [] },
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

/** What the agent says to it, and where that goes. */
export function makeAnswer({ content, message }: Turn): Answer {
  const id = createHash('sha256').update(String(message)).digest('hex').slice(0, 32)
  const inbox = `https://${content.sender.address.split('@')[2]}/inbox`
  return {
    response: {
      id,
      thread_id: content.thread_id,
      in_reply_to: content.id,
      sender: recipientOf(answering),
      parts: [{ kind: 'text', mime: 'text/markdown', content: 'At 21:40; bicycles travel free.' }],
      status: 'completed',
      created_at: new Date().toISOString(),
    },
    aliases: [`https://${gatewayHost}/agents/${answering}/posts/${id}`],
    isListed: true,
    deliveries: [{ to: inbox, target: { reply: { visibility: 'public' }, inbox } }],
  }
}

function objectOf(number: number): string {
  return `https://people-${number % 500}.test/users/user${number % people}/statuses/${number}`
}

/** Spread like chance, and the same in every run. */
function pickEarlier(number: number): number {
  const step = 1 + ((number * 7_919) % reach)
  return Math.max(0, number - step)
}
