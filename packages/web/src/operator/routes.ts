// Serves the runs in which operators see and decide the waiting approvals and questions.

import type { Event } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import type { StreamedBody } from '@postern/http'
import { answerWithBody, sseHeaders } from '@postern/http'
import type { NormalizedResponse, ToolCallPart } from '@postern/message'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import {
  acceptsStream,
  createOwnerLimit,
  RepeatedRun,
  readAddressedAgent,
  readJson,
  withErrorResponses,
} from '../endpoint.ts'
import type { Unstamped } from '../events/run-text.ts'
import type { EventSink } from '../events/sse.ts'
import { streamEvents } from '../events/sse.ts'
import { writeToolResult } from '../events/work-events.ts'
import { readRunInput } from '../input/run-input.ts'
import { readChatText } from '../render.ts'
import type { TurnWatcher } from '../runs/follow-turn.ts'
import { followTurn } from '../runs/follow-turn.ts'
import type { DecidedApproval, OperatorWaits, StartedOperatorRun } from './operator-run.ts'
import { listWaiting, startOperatorRun } from './operator-run.ts'
import type { OperatorRun } from './verify-operator.ts'
import { createVerifyOperator } from './verify-operator.ts'
import {
  describeQuestion,
  listQuestions,
  outcomeMessageIdOf,
  showApproval,
  showQuestion,
  summarizeWaiting,
  writeApprovalInterrupt,
} from './waiting.ts'

export interface OperatorRunDeps extends WebDeps, OperatorWaits {
  isOperatorToken(authorization: string): boolean
}

/** The time for which the id of a run cannot be used again, ms. */
const rememberedMs = 24 * 3_600_000

/** Creates the routes of AG-UI runs in which operators see and decide the waiting approvals and questions. */
export function createOperatorRunRoutes(deps: OperatorRunDeps): Hono {
  const { gateway, config, verifyOwner, isOperatorToken } = deps
  const verifyOperator = createVerifyOperator({ config, verifyOwner, origin: gateway.agents.origin, isOperatorToken })
  const acquireRun = createOwnerLimit(config.limits.runs_per_owner)

  async function openRun(c: Context, operator: OperatorRun['operator'], releaseRun: () => void): Promise<Response> {
    const agentName = c.req.param('agent')
    const agent = agentName === undefined ? undefined : readAddressedAgent(agentName, deps)
    const { input, warnings } = await readRunInput(await readJson(c, deps, 'run'))
    const key = `operator-run ${JSON.stringify([operator.owner, input.runId])}`
    if (!(await gateway.store.consumeOnce(key, gateway.system.now() + rememberedMs))) throw new RepeatedRun()
    const run = { operator, agent, input }
    const startedRun = await startOperatorRun(run, deps)
    const runWithWarnings = { ...startedRun, warnings: [...warnings, ...startedRun.warnings] }
    const stream = streamOperatorRun({ run, startedRun: runWithWarnings, deps, releaseRun })
    return answerWithBody(c.env, stream, sseHeaders)
  }

  async function answerRun(c: Context): Promise<Response> {
    const operator = await verifyOperator(c.req.raw)
    if (!acceptsStream(c.req.header('accept'))) return new Response(null, { status: 406 })
    const releaseRun = acquireRun(operator.owner)
    try {
      return await openRun(c, operator, releaseRun)
    } catch (error) {
      releaseRun()
      throw error
    }
  }

  const answer = withErrorResponses(deps, answerRun)
  return new Hono().post('/api/v1/operator/runs', answer).post('/api/v1/operator/agents/:agent/runs', answer)
}

type Emit = (event: Unstamped<Event>) => void

interface OperatorStream {
  readonly run: OperatorRun
  readonly startedRun: StartedOperatorRun
  readonly deps: OperatorRunDeps
  releaseRun(): void
}

/** Streams a run: first the waiting approvals and questions, then the outcomes of the decisions, and last the remaining interrupts. */
function streamOperatorRun({ run, startedRun, deps, releaseRun }: OperatorStream): StreamedBody {
  const { approvals, questions } = deps
  const { system } = deps.gateway
  const { threadId, runId } = run.input
  return streamEvents(sink => {
    const emit: Emit = event => sink.send({ ...event, timestamp: Math.trunc(system.now()) } as Event)
    emit({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION })
    emitStart(startedRun, emit)
    const followedDecisions = startedRun.decidedApprovals.map(approval =>
      followDecision(approval, { emit, sink, deps }),
    )

    const finish = async () => {
      await Promise.all(followedDecisions.map(({ outcome }) => outcome))
      const openQuestions = await listQuestions(run, questions)
      const waitingApprovals = await listWaiting(run, approvals)
      const interrupts = [...openQuestions.map(describeQuestion), ...waitingApprovals.map(writeApprovalInterrupt)]
      emitEnd(run, startedRun, interrupts, emit)
    }
    finish()
      .catch(error => {
        system.log.error({ err: error }, 'a run of an operator failed')
        emit({ type: EventType.RUN_ERROR, message: 'The run failed', code: 'unavailable' })
      })
      .finally(sink.close)
    return () => {
      for (const { stop } of followedDecisions) stop()
      releaseRun()
    }
  })
}

interface FollowedDecision {
  /** Resolves when the outcome of the decision has been sent. */
  readonly outcome: Promise<void>
  stop(): void
}

/** Follows the turn that a decision caused, and sends its outcome. */
function followDecision(
  decidedApproval: DecidedApproval,
  { emit, sink, deps }: { readonly emit: Emit; readonly sink: EventSink; readonly deps: WebDeps },
): FollowedDecision {
  const { store, system, isPaused } = deps.gateway
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher: TurnWatcher = {
    writePiece() {},
    writeDetails() {},
    writeInterim() {},
    writeNote() {},
    sendHeartbeat: sink.sendHeartbeat,
    end({ response }) {
      emitOutcome(decidedApproval, response, emit)
      resolve()
    },
    fail(reason) {
      emit({ type: EventType.CUSTOM, name: 'warning', value: hiddenOutcomeWarnings[reason] })
      resolve()
    },
  }
  const { agent } = decidedApproval.approval.requirement
  const turn = { message: decidedApproval.message, task: undefined }
  const stop = followTurn(turn, watcher, {
    store,
    system,
    turnPolls: deps.turnPolls,
    isPaused: () => isPaused?.(agent) === true,
  })
  return { outcome: promise, stop }
}

/** The warnings for a decision whose outcome the run cannot show. */
const hiddenOutcomeWarnings = {
  unreadable: 'the outcome of the decision is not known',
  paused: 'the agent is paused, and acts on the decision once it goes on',
} as const

function emitStart({ decidedApprovals, approvals, questions, warnings }: StartedOperatorRun, emit: Emit): void {
  const decidedIds = new Set(decidedApprovals.map(({ approval }) => approval.requirement.id))
  const waitingApprovals = approvals.filter(
    ({ requirement }) => requirement.status === 'open' && !decidedIds.has(requirement.id),
  )
  const messages = approvals.flatMap(approval => {
    const { id, status } = approval.requirement
    return showApproval(approval, { showsOutcome: status !== 'open' && !decidedIds.has(id) })
  })
  emit({ type: EventType.STATE_SNAPSHOT, snapshot: summarizeWaiting(waitingApprovals) })
  const shownMessages = [...messages, ...questions.map(showQuestion)]
  emit({ type: EventType.MESSAGES_SNAPSHOT, messages: shownMessages } as Unstamped<Event>)
  for (const value of warnings) emit({ type: EventType.CUSTOM, name: 'warning', value })
}

/** Emits the result of the call, and the answer to the person who asked. */
function emitOutcome(
  { approval: { call, requirement } }: DecidedApproval,
  response: NormalizedResponse | undefined,
  emit: Emit,
) {
  if (!response) return
  const endedCall = call && findEndedCall(response, call.id)
  if (endedCall) emit({ ...writeToolResult(endedCall), messageId: outcomeMessageIdOf(requirement.id) })
  const delta = readChatText(response.parts)
  if (delta === '') return
  const messageId = response.id
  emit({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant', name: response.speaker ?? '' })
  emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta })
  emit({ type: EventType.TEXT_MESSAGE_END, messageId })
}

function findEndedCall({ parts, trace = [] }: NormalizedResponse, id: string): ToolCallPart | undefined {
  const calls = [...trace, ...parts.filter(part => part.kind === 'tool_call')]
  return calls.find(call => call.id === id && (call.error !== undefined || call.result !== undefined))
}

function emitEnd(
  { input: { threadId, runId, resume = [] } }: OperatorRun,
  { decidedApprovals, answeredCount, warnings }: StartedOperatorRun,
  interrupts: readonly ReturnType<typeof writeApprovalInterrupt>[],
  emit: Emit,
): void {
  const finish = (outcome: { type: 'success' } | { type: 'interrupt'; interrupts: typeof interrupts }) =>
    emit({ type: EventType.RUN_FINISHED, threadId, runId, outcome } as Unstamped<Event>)
  if (interrupts.length > 0) finish({ type: 'interrupt', interrupts: [...interrupts] })
  else if (resume.length > 0 && decidedApprovals.length + answeredCount === 0) {
    emit({ type: EventType.RUN_ERROR, message: warnings.at(-1) ?? 'Nothing was decided', code: 'not_decided' })
  } else finish({ type: 'success' })
}
