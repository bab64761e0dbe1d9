// Builds random messages, edits, answers and posts.
import { hash } from 'node:crypto'
import type { ChannelName, Part } from '@postern/message'
import { isoTime, subjectOf } from '@postern/message'
import type { Answer, Blob, Intake, PersonIdentity, PlannedAction, QueueMode, Turn, TurnNote } from '@postern/pipeline'
import { sketchIntake, sketchResponse } from '@postern/testing'
import type { Dice } from './dice.ts'

export const people = ['ada', 'bob', 'eve'] as const
export const sketchAgents = ['echo', 'help'] as const
const vias: readonly ChannelName[] = ['a2a', 'activitypub', 'email']
const lanes: readonly QueueMode[] = [{ mode: 'merge' }, { mode: 'merge', windowMs: 500 }, { mode: 'interrupt' }]

export const textDigestOf = (text: string) => hash('sha256', text)
const textPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

export function identityOf(who: string, via: ChannelName): PersonIdentity {
  return via === 'email'
    ? { via, address: `@${who}@mail.test`, subject: `mailto:${who}@mail.test` }
    : { via, address: `@${who}@${via}.test`, subject: `https://${via}.test/${who}` }
}

/** Sketches a few files that occur repeatedly. */
function sketchFiles({ oneIn, roll }: Dice): { readonly blobs: readonly Blob[]; readonly parts: readonly Part[] } {
  if (!oneIn(4)) return { blobs: [], parts: [] }
  // Some are large enough to be looked for in the raw bytes.
  const bytes = new TextEncoder().encode(`file ${roll(4)}`.repeat(oneIn(2) ? 1 : 2_000))
  const digest = hash('sha256', bytes)
  const part: Part = {
    kind: 'file',
    mime: 'text/plain',
    bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest },
  }
  return { blobs: [{ digest, bytes, mime: 'text/plain' }], parts: [part] }
}

function sketchSender({ address, subject }: PersonIdentity, verified: boolean): Intake['message']['sender'] {
  const evidence = {
    subject,
    issuer: 'peer.test',
    method: 'urn:mentionable:auth:a2a-jwt:v0.1',
    assurance: 'address',
    audience: '@echo@agents.test',
    issued_at: '2026-01-01T00:00:00.000Z',
    proof: { type: 'transport' as const, verified_by: '@echo@agents.test' },
  }
  return { address, auth_method: 'a2a-jwt', verified, identities: [evidence] }
}

/** Sketches raw bytes with or without the files. */
function sketchRaw(id: string, blobs: readonly Blob[], { oneIn }: Dice): Intake['raw'] {
  const files = oneIn(3) ? [] : blobs.map(({ bytes }) => Buffer.from(bytes).toString('base64'))
  return { bytes: new TextEncoder().encode(JSON.stringify({ id, files })), form: 'json' }
}

/** Sketches limits of the endpoint in some cases. */
function sketchLimits({ oneIn, roll }: Dice): Partial<Intake> {
  const budget = { key: 'k', turns: 3, withinMs: 60_000, flag: 'rate', ...(oneIn(2) && { isPerThread: true as const }) }
  return {
    ...(oneIn(8) && { quota: { turns: 2, withinMs: 60_000 } }),
    ...(oneIn(8) && { budgets: [budget] }),
    ...(oneIn(6) && { loop: { agentTurns: 3, pairTurns: 5, turnsWithoutPerson: 4, similarTurns: 3 } }),
    ...(oneIn(8) && { flags: ['from_agent'] }),
    ...(oneIn(10) && { raw: { bytes: new Uint8Array(70_000).fill(65 + roll(3)), form: 'text' as const } }),
  }
}

/** Sketches a message of one of the endpoints. Only the fediverse has authors, and only A2A has tasks. */
export function sketchMessage(dice: Dice, now: number, earlier: readonly Intake[]): Intake {
  const { pick, oneIn, roll, createName } = dice
  const [id, via, who, agent, thread] = [createName(), pick(vias), pick(people), pick(sketchAgents), roll(5)]
  const identity = identityOf(who, via)
  const isTask = via === 'a2a' && oneIn(2)
  const watch = { id: 'w', to: `watch ${who}`, target: {} }
  const task = {
    owner: `owner ${who}`,
    id: `task ${roll(4)} ${agent}`,
    context: `c${thread}`,
    ...(oneIn(3) && { watch }),
  }
  const lane = lanes[thread]
  const files = sketchFiles(dice)
  const sketch = {
    agent,
    ...sketchLimits(dice),
    ...(lane && { queueMode: lane }),
    ...(via === 'activitypub' && !oneIn(5) && { authorship: { author: identity.subject, object: `object ${id}` } }),
    ...(isTask ? { task } : { aliases: [`alias ${id}`], ...(oneIn(10) && { disposition: 'keep' as const }) }),
    blobs: files.blobs,
    raw: sketchRaw(id, files.blobs, dice),
    ...(!oneIn(4) && { storage: { sender: `digest of ${who}`, isProven: who === 'ada', most: 200_000 } }),
    message: {
      id,
      thread_source: isTask ? `c${thread} ${who}` : `t${thread}`,
      received_via: via,
      parts: [textPart(`words ${id}`), ...files.parts],
      received_at: isoTime(now),
      sender: sketchSender(identity, !oneIn(6)),
    },
    thread: {
      scope: isTask ? task.owner : oneIn(2) ? 'public' : identity.subject,
      references: oneIn(2) && earlier.length > 0 ? [pick(earlier).message.id] : [],
    },
  }
  return sketchIntake(id, sketch)
}

export function sketchEditOf(dice: Dice, of: Intake): Intake {
  const { createName, oneIn } = dice
  const id = createName()
  const { blobs, parts } = sketchFiles(dice)
  return {
    ...of,
    duplicateKey: `edit ${id}`,
    blobs,
    raw: sketchRaw(id, blobs, dice),
    aliases: [],
    ...(oneIn(4) && { audience: 'direct' }),
    message: { ...of.message, id, kind: 'edit', parts: [textPart(`edit ${id}`), ...parts] },
    thread: { ...of.thread, references: [of.message.id] },
  }
}

export const answerIdOf = ({ content, message }: Turn) => `answer to ${content.id} ${message}`

/** Sketches one of the notes that a turn may have. */
export function sketchRandomNote({ pick, roll }: Dice): TurnNote {
  const kind = pick(['task', 'synthesis'])
  const name = pick(['note 1', 'note 2', 'note 3', 'call 1', 'end 1'])
  return {
    name,
    at: '2026-01-01T00:00:00.000Z',
    body: { kind, role: 'system', scope: 'agent', content: { value: 'x'.repeat(roll(200)) } },
  }
}

export function sketchRandomAnswer(dice: Dice, turn: Turn, now: number): Answer {
  const { oneIn, pick, roll, createName } = dice
  if (oneIn(8)) return { deliveries: [] }
  const { blobs, parts } = sketchFiles(dice)
  const isOpen = turn.via === 'activitypub'
  const { address } = turn.content.sender
  const requirement = oneIn(4) ? createName() : undefined
  const status = requirement ? 'input_required' : pick(['completed', 'completed', 'failed'] as const)
  const base = sketchResponse(turn, `answer ${turn.message}`, status)
  const policy = { kind: 'consent_required', message: 'May I?' } as const
  const subject = subjectOf(turn.content.sender)
  const planned = { kind: policy.kind, policy, subject, expiresAt: now + 3_600_000 }
  return {
    response: { ...base, id: answerIdOf(turn), parts: [...base.parts, ...parts] },
    blobs,
    deliveries: [
      {
        to: `inbox ${roll(3)} of ${address}`,
        target: {},
        ...(oneIn(2) && { peer: address }),
        isPulled: oneIn(6) || undefined,
      },
    ],
    // The turn may already have a partial answer.
    isRevision: true,
    aliases: turn.task ? [] : [`alias of ${answerIdOf(turn)}`],
    acts: oneIn(6) ? [sketchRandomPost(dice, turn.agent)] : [],
    ...(isOpen && { isListed: oneIn(4) }),
    ...(isOpen && oneIn(8) && { broadcasts: [{ relation: 'follower' as const, target: {} }] }),
    ...(oneIn(3) && { notes: [sketchRandomNote(dice), sketchRandomNote(dice)] }),
    ...(turn.token > 1 && { noteCount: roll(3) }),
    ...(requirement && { requirements: [{ id: requirement, digest: textDigestOf(requirement), ...planned }] }),
    ...(oneIn(5) && { state: { seen: turn.message } }),
    ...(!turn.task && oneIn(8) && { isGatewayReply: true as const }),
    ...(oneIn(6) && { personState: { person: `${turn.via} ${address}`, state: { seen: turn.message } } }),
  }
}

export function sketchRandomPost({ createName, oneIn }: Dice, agent: string): PlannedAction {
  const id = createName()
  const synthetic = sketchIntake(`post:${id}`, {
    agent,
    disposition: 'keep',
    message: { thread_source: id, parts: [], received_via: 'activitypub' },
    thread: { scope: `post:${id}` },
  })
  const response = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender: `@${agent}@agents.test`,
    parts: [textPart('post')],
    status: 'completed' as const,
    created_at: '2026-01-01T00:00:00.000Z',
  }
  const broadcasts = [{ relation: 'follower' as const, target: {} }]
  const deliveries = [{ to: 'some inbox', target: {} }]
  return { kind: 'post', syntheticMessage: synthetic, answer: { response, deliveries, broadcasts, isListed: oneIn(2) } }
}
