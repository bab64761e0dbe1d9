// Sketches posts, edits, deletions and reactions of agents for the tests of stores.
import type { NormalizedResponse, Part } from '@postern/message'
import { isoTime } from '@postern/message'
import type { Answer, Blob, DeliveryPlan, Entry, PlannedAction, Store } from '@postern/pipeline'
import type { IntakeSketch } from './under-test.ts'
import { inThread, leaseOnlyTurn, sketchAnswer, sketchIntake, toDeliveryPlan } from './under-test.ts'

type AgentPost = Extract<PlannedAction, { kind: 'post' }>
type AgentEdit = Extract<PlannedAction, { kind: 'edit' }>

interface PostSketch {
  readonly agent?: string
  readonly recipients?: readonly string[]
  readonly broadcasts?: DeliveryPlan['broadcasts']
  readonly aliases?: readonly string[]
  readonly scope?: string
  readonly isListed?: boolean
  readonly parts?: Part[]
  readonly blobs?: readonly Blob[]
}

/** Sketches a post with the id `id` and the text `text`. */
export function sketchPost(id: string, text: string, sketch: PostSketch = {}): AgentPost {
  const { agent = 'echo', recipients = [], aliases = [], scope, isListed, parts, blobs, broadcasts } = sketch
  const sender = `@${agent}@agents.test`
  const response: NormalizedResponse = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender,
    parts: parts ?? [{ kind: 'text', mime: 'text/markdown', content: text }],
    status: 'completed',
    created_at: isoTime(Date.UTC(2026, 0, 3)),
  }
  const synthetic = sketchIntake(`post:${id}`, {
    agent,
    duplicateKey: `post:${id}`,
    message: { thread_source: id, parts: [], recipient: sender },
    thread: { scope: scope ?? 'public' },
    raw: { bytes: new Uint8Array(), form: 'text' },
    proofs: [],
    target: null,
    disposition: 'keep',
    flags: ['post'],
  })
  const rendering = { of: id }
  const answer = {
    response,
    aliases,
    blobs,
    rendering,
    isListed,
    broadcasts,
    deliveries: recipients.map(toDeliveryPlan),
  }
  return { kind: 'post', syntheticMessage: synthetic, answer }
}

/** Sketches an edit with other text, which is sent to `recipients`. */
export function sketchEdit(response: NormalizedResponse, recipients: readonly string[]): AgentEdit {
  return { kind: 'edit', response, deliveryPlan: { deliveries: recipients.map(toDeliveryPlan) } }
}

export function sketchDeletion(
  response: string,
  recipients: readonly string[] = [],
  broadcasts?: DeliveryPlan['broadcasts'],
): PlannedAction {
  return { kind: 'delete', response, deliveryPlan: { deliveries: recipients.map(toDeliveryPlan), broadcasts } }
}

export function sketchReaction(
  message: number,
  recipient: string,
  broadcasts?: DeliveryPlan['broadcasts'],
): PlannedAction {
  return { kind: 'react', message, deliveryPlan: { deliveries: [toDeliveryPlan(recipient)], broadcasts } }
}

/** Admits `id` and answers it with `text`, sent to `recipients`. */
export async function answerWith(
  store: Store,
  id: string,
  text: string,
  overrides: Partial<Answer> & { recipients?: string[]; intake?: IntakeSketch } = {},
) {
  const { recipients = [], intake, ...members } = overrides
  await store.admit(sketchIntake(id, inThread('t', intake)), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, text, recipients, members))
  return turn
}

function readAll(store: Store, thread: number): Promise<readonly Entry[]> {
  return store.readHistory({ thread, beforeMessage: Number.MAX_SAFE_INTEGER, head: 0, tail: 99 })
}

export async function wordsIn(store: Store, thread: number): Promise<readonly string[]> {
  return (await readAll(store, thread)).map(({ parts }) => joinTexts(parts))
}

export function joinTexts(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join()
}

export const ofEcho = { agent: 'echo', via: 'a2a' } as const
