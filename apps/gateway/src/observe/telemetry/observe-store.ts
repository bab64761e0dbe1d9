// Reports each stage of a message when the store records its end.
import type { IntakeTrace, TurnAttempt, VerifyStep } from '@postern/message'
import { findDeliveryGroup } from '@postern/message'
import type { AdmitResult, Delivery, Intake, Settlement, Turn } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import type { MessageStage, SpanDetails, StageListener } from './stage.ts'
import { turnKey } from './stage.ts'

/** The operations of a store that end a stage. */
type Observed = Pick<GatewayStore, 'admit' | 'commit' | 'release' | 'settle'>

/** The number of waiting messages whose admission time is remembered. Beyond it, the oldest lose their `queue` stage. */
const maxWaitingMessages = 10_000

/** Wraps a store so that it reports each ended stage. A listener must not throw. */
export function observeStore<Store extends Observed>(store: Store, onStage: StageListener, now: () => number): Store {
  const admittedAt = new Map<number, number>()
  const reportedTraces = new WeakSet<IntakeTrace>()
  const reportAll = (stages: readonly MessageStage[]) => stages.forEach(onStage)
  return {
    ...store,
    async admit(intake, correlationId) {
      const admitted = await store.admit(intake, correlationId)
      const at = now()
      if (admitted.outcome === 'accepted') rememberBounded(admittedAt, admitted.message, at)
      // One request may bring several messages, but is received and checked once.
      const isFirst = intake.trace !== undefined && !reportedTraces.has(intake.trace)
      if (intake.trace) reportedTraces.add(intake.trace)
      reportAll(describeIntake(intake, { admitted, correlationId, at, isFirst }))
      return admitted
    },
    async commit(turn, answer) {
      await store.commit(turn, answer)
      reportAll(describeTurn(turn, answer.attempt, { at: now(), admittedAt: consumeTime(admittedAt, turn.message) }))
    },
    async release(turn, retry) {
      await store.release(turn, retry)
      reportAll(describeTurn(turn, retry.attempt, { at: now(), admittedAt: consumeTime(admittedAt, turn.message) }))
    },
    async settle(delivery, settlement) {
      await store.settle(delivery, settlement)
      reportAll(describeDelivery(delivery, settlement))
    },
  }
}

function rememberBounded(times: Map<number, number>, message: number, at: number): void {
  times.set(message, at)
  const [oldest] = times.keys()
  if (times.size > maxWaitingMessages && oldest !== undefined) times.delete(oldest)
}

function consumeTime(times: Map<number, number>, message: number): number | undefined {
  const at = times.get(message)
  times.delete(message)
  return at
}

interface IntakeEnd {
  readonly admitted: AdmitResult
  readonly correlationId: string
  readonly at: number
  readonly isFirst: boolean
}

function describeIntake(
  { trace, agent, message: { received_via: via }, proofs = [] }: Intake,
  { admitted, correlationId, at, isFirst }: IntakeEnd,
): readonly MessageStage[] {
  // A message of the gateway to itself was not received.
  if (!trace) return []
  const { received_at: startAt, steps } = trace
  const common = { via, correlationId }
  const stages: MessageStage[] = []
  let checkedAt = startAt
  if (isFirst) {
    const describe = () => {
      const isProven = proofs.some(({ verdict }) => verdict === 'pass')
      const caller = isProven ? trace.caller : undefined
      return { key: 'receive', kind: 'server', attributes: { proven: isProven }, caller } as const
    }
    stages.push({ ...common, name: 'receive', startAt, endAt: Math.max(startAt, at), describe })
  }
  for (const [index, step] of steps.entries()) {
    const begunAt = startAt + step.after
    const endAt = begunAt + step.ms
    checkedAt = Math.max(checkedAt, endAt)
    if (!isFirst) continue
    stages.push({ ...common, name: 'verify', startAt: begunAt, endAt, describe: () => describeCheck(step, index) })
  }
  const { message, outcome } = admitted
  const describe = () => ({ key: `admit ${message}`, attributes: { agent, message, outcome } })
  stages.push({ ...common, name: 'admit', startAt: Math.min(checkedAt, at), endAt: at, describe })
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

/** Outcomes of a turn that are not failures. */
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
  { at, admittedAt }: { readonly at: number; readonly admittedAt: number | undefined },
): readonly MessageStage[] {
  if (!attempt) return []
  const { agent, message, via, correlationId } = turn
  const { leased_at, ended_at } = attempt
  const common = { via, correlationId }
  const stages: MessageStage[] = []
  const describeAs = (key: string) => () => ({ key, attributes: { agent, message, attempt: attempt.attempt } })
  if (admittedAt !== undefined)
    stages.push({
      ...common,
      name: 'queue',
      // A turn that is leased at once may begin before the end of its admission is recorded.
      startAt: Math.min(admittedAt, leased_at),
      endAt: leased_at,
      describe: describeAs(`queue ${message}`),
    })
  const describeRun = () => describeAttempt(turn, attempt)
  stages.push(
    { ...common, name: 'turn', startAt: leased_at, endAt: ended_at, describe: describeRun },
    {
      ...common,
      name: 'commit',
      startAt: Math.min(ended_at, at),
      endAt: at,
      describe: describeAs(`commit ${message} ${turn.token}`),
    },
  )
  return stages
}

function describeAttempt(turn: Turn, attempt: TurnAttempt): SpanDetails {
  const { leased_at, called_at, first_output_at, outcome, tools = [], error } = attempt
  return {
    key: turnKey(turn),
    conventional: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': turn.agent,
      'gen_ai.conversation.id': String(turn.thread),
    },
    attributes: {
      ...{ agent: turn.agent, message: turn.message, attempt: attempt.attempt, outcome },
      ...(called_at !== undefined && { called_after_ms: called_at - leased_at }),
      ...(first_output_at !== undefined && called_at !== undefined && { first_output_ms: first_output_at - called_at }),
      ...(tools.length > 0 && { tool_calls: tools.length }),
    },
    fault: successfulOutcomes.has(outcome) ? undefined : (error?.name ?? outcome),
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
        ...{ agent, attempt, outcome: settlement.state },
        ...(host !== undefined && { host }),
        ...(status !== undefined && { status }),
      },
      fault: settlement.state === 'sent' ? undefined : settlement.state,
    } as const
  }
  return [{ name: 'deliver', via, correlationId, startAt: at, endAt: at + ms, describe }]
}
