import type { DeliveryRecord, IntakeTrace, MessageRecord, TurnAttempt, TurnRecord, VerifyStep } from '@postern/core'

/** One thing that happened to a message, on the one axis of its time. Instants are ms since 1970, durations ms. */
export interface RecordedStage {
  readonly name: string
  readonly at: number
  /** Absent of what has no length. */
  readonly ms?: number | undefined
  /** How it came out. */
  readonly outcome?: string | undefined
}

/** What happened to a message, in the order of time: bytes, each proof, queue, agent, commit, each attempt to deliver. */
export function listRecordedStages({ message, trace, turn, deliveries }: MessageRecord): readonly RecordedStage[] {
  const received = trace?.received_at ?? Date.parse(message.received_at)
  return [
    { name: 'received', at: received },
    ...(trace ? listSteps(trace) : []),
    ...(turn ? listTurn(turn, trace?.admitted_at ?? received) : []),
    ...deliveries.flatMap(listDelivery),
  ]
}

function listSteps({ received_at, steps, admitted_at }: IntakeTrace): readonly RecordedStage[] {
  const checked = steps.map(step => ({
    name: step.kind,
    at: received_at + step.after,
    ms: step.ms,
    outcome: describeStep(step),
  }))
  return admitted_at === undefined ? checked : [...checked, { name: 'admitted', at: admitted_at }]
}

const origins: Readonly<Record<NonNullable<VerifyStep['key_from']>, string>> = {
  fetched: 'fetched from its host',
  cache: 'remembered',
  dns: 'from DNS',
  config: 'configured',
  message: 'sent along',
}

function describeStep({ verdict, key_id, key_from }: VerifyStep): string {
  const key = [key_id === undefined ? 'key' : `key ${key_id}`, key_from && `(${origins[key_from]})`].filter(Boolean)
  return [verdict, ...(key_id === undefined && key_from === undefined ? [] : [key.join(' ')])].join(', ')
}

function listTurn({ attempts, due_at, is_leased, ended_at }: TurnRecord, admitted: number): readonly RecordedStage[] {
  const waits = attempts.flatMap((attempt, at) => {
    const since = at === 0 ? admitted : (attempts[at - 1]?.ended_at ?? admitted)
    return [{ name: 'queued', at: since, ms: Math.max(0, attempt.leased_at - since) }, ...listAttempt(attempt)]
  })
  const isOver = ended_at !== undefined
  const next = isOver || is_leased || due_at === undefined ? [] : [{ name: 'turn', at: due_at, outcome: 'due' }]
  const running = is_leased ? [{ name: 'turn', at: attempts.at(-1)?.ended_at ?? admitted, outcome: 'running' }] : []
  return [...waits, ...next, ...running, ...(isOver ? [{ name: 'committed', at: ended_at }] : [])]
}

function listAttempt(attempt: TurnAttempt): readonly RecordedStage[] {
  const { leased_at, called_at, first_output_at, ended_at, tools = [] } = attempt
  const since = called_at ?? leased_at
  return [
    {
      name: called_at === undefined ? 'turn' : 'agent',
      at: since,
      ms: ended_at - since,
      outcome: describeAttempt(attempt),
    },
    ...(first_output_at === undefined ? [] : [{ name: '  first output', at: first_output_at }]),
    ...tools.map(({ name, ms, ok }) => ({ name: `  tool ${name}`, at: since, ms, outcome: ok ? 'ok' : 'failed' })),
  ]
}

function describeAttempt({ attempt, outcome, error, next_at }: TurnAttempt): string {
  const place = error?.file === undefined ? '' : ` at ${error.file}${error.line === undefined ? '' : `:${error.line}`}`
  const fault = error && `${error.name}: ${error.message}${place}`
  const again = next_at !== undefined && `again at ${formatInstant(next_at)}`
  return [attempt > 1 && `attempt ${attempt}`, outcome.replace('_', ' '), fault, again].filter(Boolean).join(', ')
}

function listDelivery({ id, attempt_log, next_attempt_at }: DeliveryRecord): readonly RecordedStage[] {
  const tried = attempt_log.map(({ attempt, at, ms, outcome, reply_line, error, next_at }) => {
    const again = next_at !== undefined && `again at ${formatInstant(next_at)}`
    const said = [outcome, reply_line ?? error, again].filter(Boolean).join(', ')
    return { name: attempt === 1 ? `delivery ${id}` : `delivery ${id} (${attempt})`, at, ms, outcome: said }
  })
  if (next_attempt_at === undefined) return tried
  return [...tried, { name: `delivery ${id}`, at: Date.parse(next_attempt_at), outcome: 'due' }]
}

/** To the second: for people. */
export function formatInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
