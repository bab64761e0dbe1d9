// Runs the agent for a stored message as a turn does, and compares the new answer with the recorded one.
import type { NormalizedMessage, NormalizedResponse } from '@postern/message'
import { threadSourceOf } from '@postern/message'
import type {
  Addressing,
  Answer,
  AnsweredTurn,
  Delivery,
  Intake,
  MessageRecord,
  PlannedDelivery,
  RunningAgent,
  StoredArrival,
  Turn,
  TurnContext,
} from '@postern/pipeline'
import { findChannel, readPersonCommand, runTurn } from '@postern/pipeline'
import { compareJson } from './compare.ts'
import type { ReadAgainDeps } from './read-again.ts'
import { createPastStore, nameAgent, reuseFetchedFiles, silenceSystem } from './read-again.ts'
import type { ReplayChange } from './report.ts'

/** The dependencies of a turn that a replay does not replace. */
export type ReplayTurnDeps = Omit<
  TurnContext,
  'results' | 'findAgent' | 'people' | 'waitingTurns' | 'countUsage' | 'onStepEnded'
> &
  ReadAgainDeps

export interface NewAnswer {
  /** The answer; undefined if the agent did not answer. */
  readonly response: NormalizedResponse | undefined
  readonly answer: Answer | undefined
  readonly changes: readonly ReplayChange[]
  readonly wire: readonly ReplayChange[]
}

interface AnswerAgainRequest {
  readonly record: MessageRecord
  readonly storedArrival: StoredArrival
  readonly intake: Intake
  readonly runningAgent: RunningAgent
  /** The time of the answer, ms. */
  readonly at: number
}

/** Calls the agent as a turn does, but delivers and stores nothing. */
export async function answerAgain(request: AnswerAgainRequest, deps: ReplayTurnDeps): Promise<NewAnswer> {
  const { record, runningAgent, at } = request
  const turn = await describeTurn(request, deps)
  let answer: Answer | undefined
  let failure: string | undefined
  const turnContext: TurnContext = {
    ...deps,
    store: createPastStore(deps.store, { message: record.number, at: Date.parse(record.message.received_at) }),
    system: { ...silenceSystem(deps.system), now: () => at },
    maxCrashes: Number.POSITIVE_INFINITY,
    findAgent: () => runningAgent,
    results: {
      commit: async (_, newAnswer) => {
        answer = newAnswer
      },
      release: async (_, { error }) => {
        failure = error
      },
      storeStreamedAnswer: async () => {},
    },
  }
  await runTurn(turn, turnContext, new AbortController().signal)
  const response = answer?.response
  const changes =
    failure === undefined ? compareResponses(record.response, response) : [{ path: '', after: `failed: ${failure}` }]
  return { response, answer, changes, wire: compareWires({ record, turn, response }, deps) }
}

/** Returns true if a message is a command, which the gateway carries out itself, and which would have an effect. */
export function isCommand(record: MessageRecord, { people }: RunningAgent): boolean {
  return people?.link === true && readPersonCommand(record.message) !== undefined
}

async function describeTurn(
  { record, storedArrival, intake }: AnswerAgainRequest,
  { store }: ReplayTurnDeps,
): Promise<Turn> {
  const { number, thread, correlation_id } = record
  const content: NormalizedMessage = {
    ...intake.message,
    thread_id: record.message.thread_id,
    thread_source: threadSourceOf(record.message),
    parts: reuseFetchedFiles(intake.message.parts, record.message.parts),
    raw: record.message.raw,
  }
  const mergedMessages = await Promise.all(
    storedArrival.merged.map(async mergedNumber => (await store.findMessage(`#${mergedNumber}`))?.message),
  )
  return {
    ...{ message: number, thread, token: 1, crashes: 0, correlationId: correlation_id, via: content.received_via },
    agent: nameAgent(record),
    // Only a first attempt searches for earlier messages in other threads.
    attempt: 2,
    content: {
      ...content,
      parts: [...mergedMessages.flatMap(mergedMessage => mergedMessage?.parts ?? []), ...content.parts],
    },
    target: intake.target,
    flags: [...new Set([...record.flags, ...(intake.flags ?? [])])],
    ...(intake.task && { task: { owner: intake.task.owner, id: intake.task.id } }),
    ...(storedArrival.merged.length > 0 && { merged: storedArrival.merged }),
  }
}

/** Members that differ in each answer or run. */
const volatileMembers: ReadonlySet<string> = new Set(['id', 'created_at', 'usage', 'trace', 'unfinished'])
/** Members with random values in each requirement. */
const randomMembers: ReadonlySet<string> = new Set(['state', 'requirement', 'expires_at', 'url'])

function compareResponses(
  recordedResponse: NormalizedResponse | null,
  newResponse: NormalizedResponse | undefined,
): readonly ReplayChange[] {
  return compareJson(showResponse(recordedResponse ?? undefined), showResponse(newResponse))
}

function showResponse(response: NormalizedResponse | undefined): unknown {
  if (!response) return undefined
  const members = Object.entries(response).filter(([name]) => !volatileMembers.has(name))
  return { ...Object.fromEntries(members), parts: response.parts.map(withoutRandomMembers) }
}

function withoutRandomMembers(part: NormalizedResponse['parts'][number]): unknown {
  if (part.kind !== 'policy') return part
  return {
    ...part,
    policy: Object.fromEntries(Object.entries(part.policy).filter(([name]) => !randomMembers.has(name))),
  }
}

interface WireRequest {
  readonly record: MessageRecord
  readonly turn: Turn
  readonly response: NormalizedResponse | undefined
}

/**
 * Compares the documents that were sent for the answer with those of the new answer, under the ids of the old one. It skips destinations with
 * several documents, because their answer was changed later.
 */
function compareWires({ record, turn, response }: WireRequest, deps: ReplayTurnDeps): readonly ReplayChange[] {
  const channel = findChannel(deps.channels, turn.via)
  const recordedResponse = record.response
  if (!channel || !recordedResponse || !response) return []
  const renamedResponse = { ...response, id: recordedResponse.id, created_at: recordedResponse.created_at }
  const { deliveries, rendering } = channel.address({ turn, response: renamedResponse })
  // Deliveries to watchers of a task are not compared.
  const answeredTargets = new Set(channel.address({ turn, response: recordedResponse }).deliveries.map(({ to }) => to))
  const answerDeliveries = record.deliveries.filter(({ via, to }) => via === turn.via && answeredTargets.has(to))
  return answerDeliveries
    .filter(
      ({ to, wire }) => wire !== null && answerDeliveries.filter(otherDelivery => otherDelivery.to === to).length === 1,
    )
    .flatMap(({ to, wire }) => {
      const plannedDelivery = deliveries.find(delivery => delivery.to === to)
      if (!plannedDelivery) return [{ path: to, before: 'a delivery', after: 'none' }]
      const delivery = describeDelivery(plannedDelivery, { turn, response: renamedResponse, rendering })
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
