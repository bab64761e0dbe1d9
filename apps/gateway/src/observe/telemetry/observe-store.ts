// Reports each stage of a message when the store records its end.
import type { IntakeTrace, TurnAttempt, VerifyStep } from '@postern/message'
import { findDeliveryGroup } from '@postern/message'
import type { AdmitResult, Delivery, Intake, Settlement, Turn } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import type { MessageStage, SpanDetails, StageListener } from './stage.ts'
import { formatTurnKey } from './stage.ts'

/** The operations of a store that end a stage. */
type ObservedOperations = Pick<GatewayStore, 'admit' | 'commit' | 'release' | 'settle'>

/** The maximum number of waiting messages whose admission time is stored. Beyond this number, the oldest message loses its `queue` stage. */
const maxWaitingMessages = 10_000

/** Wraps a store so that it reports each ended stage. A listener must not throw. */
export function observeStore<Store extends ObservedOperations>(
  store: Store,
  onStage: StageListener,
  now: () => number,
): Store {
  const admittedAt = new Map<number, number>()
  const reportedTraces = new WeakSet<IntakeTrace>()
  const reportAll = (stages: readonly MessageStage[]) => stages.forEach(onStage)
  const reportTurn = (turn: Turn, attempt: TurnAttempt | undefined) =>
    reportAll(describeTurn(turn, attempt, { at: now(), admittedAt: consumeAdmissionTime(admittedAt, turn.message) }))
  return {
    ...store,
    admit: (intake, correlationId) =>
      store.admit(intake, correlationId).then(admitResult => {
        const recordedAt = now()
        if (admitResult.outcome === 'accepted') rememberAdmission(admittedAt, admitResult.message, recordedAt)
        // One request may bring several messages, but is received and checked once.
        const isFirstIntake = intake.trace !== undefined && !reportedTraces.has(intake.trace)
        if (intake.trace) reportedTraces.add(intake.trace)
        reportAll(describeIntake(intake, { admitResult, correlationId, recordedAt, isFirstIntake }))
        return admitResult
      }),
    commit: (turn, answer) => store.commit(turn, answer).then(() => reportTurn(turn, answer.attempt)),
    release: (turn, retry) => store.release(turn, retry).then(() => reportTurn(turn, retry.attempt)),
    settle: (delivery, settlement) =>
      store.settle(delivery, settlement).then(() => reportAll(describeDelivery(delivery, settlement))),
  }
}

function rememberAdmission(times: Map<number, number>, message: number, at: number): void {
  times.set(message, at)
  const [oldestMessage] = times.keys()
  if (times.size > maxWaitingMessages && oldestMessage !== undefined) times.delete(oldestMessage)
}

function consumeAdmissionTime(times: Map<number, number>, message: number): number | undefined {
  const admittedAt = times.get(message)
  times.delete(message)
  return admittedAt
}

interface IntakeEnd {
  readonly admitResult: AdmitResult
  readonly correlationId: string
  readonly recordedAt: number
  readonly isFirstIntake: boolean
}

function describeIntake(
  { trace, agent, message: { received_via: via }, proofs = [] }: Intake,
  { admitResult, correlationId, recordedAt, isFirstIntake }: IntakeEnd,
): readonly MessageStage[] {
  // A message of the gateway to itself was not received.
  if (!trace) return []
  const { received_at: startAt, steps } = trace
  const commonFields = { via, correlationId }
  const stages: MessageStage[] = []
  let checkedAt = startAt
  if (isFirstIntake) {
    const describe = () => {
      const isProven = proofs.some(({ verdict }) => verdict === 'pass')
      const callerTraceparent = isProven ? trace.caller : undefined
      return { key: 'receive', kind: 'server', attributes: { proven: isProven }, callerTraceparent } as const
    }
    stages.push({ ...commonFields, name: 'receive', startAt, endAt: Math.max(startAt, recordedAt), describe })
  }
  for (const [index, step] of steps.entries()) {
    const stepStartedAt = startAt + step.after
    const endAt = stepStartedAt + step.ms
    checkedAt = Math.max(checkedAt, endAt)
    if (!isFirstIntake) continue
    stages.push({
      ...commonFields,
      name: 'verify',
      startAt: stepStartedAt,
      endAt,
      describe: () => describeCheck(step, index),
    })
  }
  const { message, outcome } = admitResult
  const describe = () => ({ key: `admit ${message}`, attributes: { agent, message, outcome } })
  stages.push({ ...commonFields, name: 'admit', startAt: Math.min(checkedAt, recordedAt), endAt: recordedAt, describe })
  return stages
}

function describeCheck({ kind, verdict, key_from }: VerifyStep, index: number): SpanDetails {
  const title = `verify ${kind}`
  return {
    key: `verify ${index}`,
    title,
    attributes: { check: kind, verdict, ...(key_from !== undefined && { key_from }) },
  }
}

/** The outcomes of a turn that are not failures. */
const successfulOutcomes: ReadonlySet<TurnAttempt['outcome']> = new Set([
  'answered',
  'silent',
  'empty_answer',
  'edited',
  'canceled',
  'deleted',
])

function describeTurn(
  turn: Turn,
  attempt: TurnAttempt | undefined,
  { at: recordedAt, admittedAt }: { readonly at: number; readonly admittedAt: number | undefined },
): readonly MessageStage[] {
  if (!attempt) return []
  const { agent, message, via, correlationId } = turn
  const { leased_at, ended_at } = attempt
  const commonFields = { via, correlationId }
  const stages: MessageStage[] = []
  const describeAs = (key: string) => () => ({ key, attributes: { agent, message, attempt: attempt.attempt } })
  if (admittedAt !== undefined)
    stages.push({
      ...commonFields,
      name: 'queue',
      // A turn that is leased at once may begin before the end of its admission is recorded.
      startAt: Math.min(admittedAt, leased_at),
      endAt: leased_at,
      describe: describeAs(`queue ${message}`),
    })
  const describeRun = () => describeAttempt(turn, attempt)
  stages.push(
    { ...commonFields, name: 'turn', startAt: leased_at, endAt: ended_at, describe: describeRun },
    {
      ...commonFields,
      name: 'commit',
      startAt: Math.min(ended_at, recordedAt),
      endAt: recordedAt,
      describe: describeAs(`commit ${message} ${turn.token}`),
    },
  )
  return stages
}

function describeAttempt(turn: Turn, attempt: TurnAttempt): SpanDetails {
  const { leased_at, called_at, first_output_at, outcome, tools = [], error } = attempt
  return {
    key: formatTurnKey(turn),
    semanticAttributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': turn.agent,
      'gen_ai.conversation.id': String(turn.thread),
    },
    attributes: {
      agent: turn.agent,
      message: turn.message,
      attempt: attempt.attempt,
      outcome,
      ...(called_at !== undefined && { called_after_ms: called_at - leased_at }),
      ...(first_output_at !== undefined && called_at !== undefined && { first_output_ms: first_output_at - called_at }),
      ...(tools.length > 0 && { tool_calls: tools.length }),
    },
    errorCode: successfulOutcomes.has(outcome) ? undefined : (error?.name ?? outcome),
  }
}

function describeDelivery(delivery: Delivery, settlement: Settlement): readonly MessageStage[] {
  // There was no attempt, because the breaker of the host is open.
  if (!settlement.attempt) return []
  const { via, correlationId, id, attempt, agent, to } = delivery
  const { at, ms, status } = settlement.attempt
  const describe = () => {
    const host = findDeliveryGroup(to)
    return {
      key: `deliver ${id} ${delivery.token}`,
      kind: 'client',
      attributes: {
        agent,
        attempt,
        outcome: settlement.state,
        ...(host !== undefined && { host }),
        ...(status !== undefined && { status }),
      },
      fault: settlement.state === 'sent' ? undefined : settlement.state,
    } as const
  }
  return [{ name: 'deliver', via, correlationId, startAt: at, endAt: at + ms, describe }]
}
