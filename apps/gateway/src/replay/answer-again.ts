import type {
  Addressing,
  Answer,
  AnsweredTurn,
  Delivery,
  Intake,
  MessageRecord,
  NormalizedMessage,
  NormalizedResponse,
  PlannedDelivery,
  RunningAgent,
  StoredArrival,
  Turn,
  TurnContext,
} from '@postern/core'
import { findChannel, readPersonCommand, workTurn } from '@postern/core'
import { compareJson } from './compare.ts'
import type { ReadAgainDeps } from './read-again.ts'
import { adoptKept, createPastStore, nameAgent, silence } from './read-again.ts'
import type { ReplayChange } from './report.ts'

/** What a turn takes beside its results, its agent and what a replay replaces. */
export type ReplayTurnDeps = Omit<TurnContext, 'results' | 'findAgent' | 'people' | 'waiting' | 'countUsage'> &
  ReadAgainDeps

export interface AnsweredAgain {
  /** Undefined: the agent did not answer. */
  readonly response: NormalizedResponse | undefined
  readonly answer: Answer | undefined
  readonly changes: readonly ReplayChange[]
  readonly wire: readonly ReplayChange[]
}

interface AgainRequest {
  readonly record: MessageRecord
  readonly arrived: StoredArrival
  readonly intake: Intake
  readonly running: RunningAgent
  /** ms */
  readonly at: number
}

/** Calls the agent as a turn does, and keeps what it says. Nothing is delivered or stored. */
export async function answerAgain(request: AgainRequest, deps: ReplayTurnDeps): Promise<AnsweredAgain> {
  const { record, running, at } = request
  const turn = await describeTurn(request, deps)
  let answer: Answer | undefined
  let failure: string | undefined
  const turnContext: TurnContext = {
    ...deps,
    store: createPastStore(deps.store, { message: record.number, at: Date.parse(record.message.received_at) }),
    platform: { ...silence(deps.platform), now: () => at },
    maxCrashes: Number.POSITIVE_INFINITY,
    findAgent: () => running,
    results: {
      commit: async (_, committed) => {
        answer = committed
      },
      release: async (_, { error }) => {
        failure = error
      },
      keepStreamed: async () => {},
    },
  }
  await workTurn(turn, turnContext, new AbortController().signal)
  const response = answer?.response
  const changes =
    failure === undefined ? compareResponses(record.response, response) : [{ path: '', after: `failed: ${failure}` }]
  return { response, answer, changes, wire: compareWires({ record, turn, response }, deps) }
}

/** A command is done by the gateway itself, for good. */
export function isCommand(record: MessageRecord, { people }: RunningAgent): boolean {
  return people?.link === true && readPersonCommand(record.message) !== undefined
}

async function describeTurn({ record, arrived, intake }: AgainRequest, { store }: ReplayTurnDeps): Promise<Turn> {
  const { number, thread, correlation_id } = record
  const content: NormalizedMessage = {
    ...intake.message,
    thread_id: record.message.thread_id,
    parts: adoptKept(intake.message.parts, record.message.parts),
    raw: record.message.raw,
  }
  const merged = await Promise.all(arrived.merged.map(async each => (await store.findMessage(`#${each}`))?.message))
  return {
    ...{ message: number, thread, token: 1, crashes: 0, correlationId: correlation_id, via: content.received_via },
    agent: nameAgent(record),
    // What was said before it elsewhere is looked for in the first attempt alone.
    attempt: 2,
    content: { ...content, parts: [...merged.flatMap(each => each?.parts ?? []), ...content.parts] },
    target: intake.target,
    flags: [...new Set([...record.flags, ...(intake.flags ?? [])])],
    ...(intake.task && { task: { owner: intake.task.owner, id: intake.task.id } }),
    ...(arrived.merged.length > 0 && { merged: arrived.merged }),
  }
}

/** Given anew to each answer, or another in each run. */
const ownMembers: ReadonlySet<string> = new Set(['id', 'created_at', 'usage', 'trace', 'unfinished'])
/** Drawn by chance for each requirement. */
const drawnMembers: ReadonlySet<string> = new Set(['state', 'requirement', 'expires_at', 'url'])

function compareResponses(
  before: NormalizedResponse | null,
  after: NormalizedResponse | undefined,
): readonly ReplayChange[] {
  return compareJson(showResponse(before ?? undefined), showResponse(after))
}

function showResponse(response: NormalizedResponse | undefined): unknown {
  if (!response) return undefined
  const members = Object.entries(response).filter(([name]) => !ownMembers.has(name))
  return { ...Object.fromEntries(members), parts: response.parts.map(withoutDrawn) }
}

function withoutDrawn(part: NormalizedResponse['parts'][number]): unknown {
  if (part.kind !== 'policy') return part
  return {
    ...part,
    policy: Object.fromEntries(Object.entries(part.policy).filter(([name]) => !drawnMembers.has(name))),
  }
}

interface WireRequest {
  readonly record: MessageRecord
  readonly turn: Turn
  readonly response: NormalizedResponse | undefined
}

/**
 * The documents that left for the answer, rendered from the new one under the ids of the old one. Where the answer was changed since, several left
 * for one place, and none of them is what would leave today.
 */
function compareWires({ record, turn, response }: WireRequest, deps: ReplayTurnDeps): readonly ReplayChange[] {
  const channel = findChannel(deps.channels, turn.via)
  const before = record.response
  if (!channel || !before || !response) return []
  const named = { ...response, id: before.id, created_at: before.created_at }
  const { deliveries, rendering } = channel.address({ turn, response: named })
  // Who watches a task is told beside it.
  const answered = new Set(channel.address({ turn, response: before }).deliveries.map(({ to }) => to))
  const own = record.deliveries.filter(({ via, to }) => via === turn.via && answered.has(to))
  return own
    .filter(({ to, wire }) => wire !== null && own.filter(other => other.to === to).length === 1)
    .flatMap(({ to, wire }) => {
      const planned = deliveries.find(delivery => delivery.to === to)
      if (!planned) return [{ path: to, before: 'a delivery', after: 'none' }]
      const delivery = describeDelivery(planned, { turn, response: named, rendering })
      return compareJson(wire, channel.prepare(delivery).wire).map(change => ({
        ...change,
        path: [to, change.path].filter(Boolean).join(' '),
      }))
    })
}

function describeDelivery(
  { to, target }: PlannedDelivery,
  { turn, response, rendering }: AnsweredTurn & Pick<Addressing, 'rendering'>,
): Delivery {
  const { via, agent, correlationId, content } = turn
  return {
    ...{ id: '0', token: 0, attempt: 1, via, agent, to, target, correlationId, message: content, response, rendering },
    queuedAt: Date.parse(response.created_at),
  }
}
