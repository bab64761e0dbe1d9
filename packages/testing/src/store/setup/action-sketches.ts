import type { Answer, Blob, Entry, NormalizedResponse, Part, Planned, PlannedAction, Store } from '@postern/core'
import { isoTime } from '@postern/core'
import { inThread, leaseOnlyTurn, sketchAnswer, sketchIntake, toDeliveryPlan } from './under-test.ts'

type AgentPost = Extract<PlannedAction, { kind: 'post' }>
type AgentEdit = Extract<PlannedAction, { kind: 'edit' }>

interface PostSketch {
  readonly agent?: string
  readonly places?: readonly string[]
  readonly broadcasts?: Planned['broadcasts']
  readonly aliases?: readonly string[]
  readonly scope?: string
  readonly isListed?: boolean
  readonly parts?: Part[]
  readonly blobs?: readonly Blob[]
}

/** A post called `id` that says `text`. */
export function sketchPost(id: string, text: string, sketch: PostSketch = {}): AgentPost {
  const { agent = 'echo', places = [], aliases = [], scope, isListed, parts, blobs, broadcasts } = sketch
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
    message: { thread_id: id, parts: [], recipient: sender },
    thread: { scope: scope ?? 'public' },
    raw: { bytes: new Uint8Array(), form: 'text' },
    proofs: [],
    target: null,
    disposition: 'keep',
    flags: ['post'],
  })
  const rendering = { of: id }
  const answer = { response, aliases, blobs, rendering, isListed, broadcasts, deliveries: places.map(toDeliveryPlan) }
  return { kind: 'post', synthetic, answer }
}

/** Other words, told to `places`. */
export function sketchEdit(response: NormalizedResponse, places: readonly string[]): AgentEdit {
  return { kind: 'edit', response, planned: { deliveries: places.map(toDeliveryPlan) } }
}

export function sketchDeletion(
  response: string,
  places: readonly string[] = [],
  broadcasts?: Planned['broadcasts'],
): PlannedAction {
  return { kind: 'delete', response, planned: { deliveries: places.map(toDeliveryPlan), broadcasts } }
}

export function sketchReaction(message: number, place: string, broadcasts?: Planned['broadcasts']): PlannedAction {
  return { kind: 'react', message, planned: { deliveries: [toDeliveryPlan(place)], broadcasts } }
}

/** Admits `id` and answers it with `text`, sent to `places`. */
export async function answerWith(
  store: Store,
  id: string,
  text: string,
  rest: Partial<Answer> & { places?: string[] } = {},
) {
  const { places = [], ...members } = rest
  await store.admit(sketchIntake(id, inThread('t')), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, text, places, members))
  return turn
}

function readAll(store: Store, thread: number): Promise<readonly Entry[]> {
  return store.readHistory({ thread, before: Number.MAX_SAFE_INTEGER, head: 0, tail: 99 })
}

export async function wordsIn(store: Store, thread: number): Promise<readonly string[]> {
  return (await readAll(store, thread)).map(({ parts }) => joinTexts(parts))
}

export function joinTexts(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join()
}

export const ofEcho = { agent: 'echo', via: 'a2a' } as const
