// Draws the stages of a message under one time axis, a line each.
import type { IntakeTrace, TurnAttempt, TurnRecord, TurnStep, VerifyStep } from '@postern/message'
import type { DeliveryRecord, MessageRecord } from '@postern/pipeline'
import { formatErrorPosition } from '../../why/reason.ts'
import { formatDuration, formatInstant } from './format-time.ts'

/** The width of the axis, columns. */
const width = 32

/** The duration up to which the axis is linear, ms. Beyond it, the axis is logarithmic. */
const maxLinearMs = 60_000

/** Formats each stage on a line with its start, duration, bar and outcome. */
export function formatWaterfall(record: MessageRecord): readonly string[] {
  const stages = listRecordedStages(record)
  const startAt = Math.min(...stages.map(({ at }) => at))
  const endAt = Math.max(...stages.map(({ at, ms = 0 }) => at + ms))
  const toColumn = createAxis(endAt - startAt)
  const nameWidth = Math.max(...stages.map(({ name }) => name.length))
  const heading = `${''.padEnd(nameWidth)}  ${'after'.padStart(8)}  ${'took'.padStart(8)}  ${formatDuration(0)}${formatDuration(endAt - startAt).padStart(width - formatDuration(0).length)}`
  const lines = stages.map(({ name, at, ms, outcome = '' }) => {
    const [startText, durationText] = [formatDuration(at - startAt), ms === undefined ? '' : formatDuration(ms)]
    const bar = drawBar(toColumn(at - startAt), ms === undefined ? undefined : toColumn(at - startAt + ms))
    return `${name.padEnd(nameWidth)}  ${startText.padStart(8)}  ${durationText.padStart(8)}  ${bar}  ${outcome}`.trimEnd()
  })
  return [heading, ...lines]
}

/** Returns a function from ms after the start to the column. */
function createAxis(totalMs: number): (ms: number) => number {
  const scale = totalMs > maxLinearMs ? Math.log1p : (ms: number) => ms
  const fullScale = scale(totalMs) || 1
  return ms => Math.min(width - 1, Math.floor((scale(Math.max(0, ms)) / fullScale) * width))
}

/** Draws the bar of a stage, or a line for an instant, which has no end. */
function drawBar(startColumn: number, endColumn: number | undefined): string {
  const bar = endColumn === undefined ? '│' : '█'.repeat(Math.max(1, endColumn - startColumn))
  return `${' '.repeat(startColumn)}${bar}`.slice(0, width).padEnd(width)
}

/** One stage of a message. Instants are ms since 1970, durations ms. */
interface RecordedStage {
  readonly name: string
  readonly at: number
  /** The duration; absent for an instant. */
  readonly ms?: number | undefined
  /** The result of the stage. */
  readonly outcome?: string | undefined
}

/** Lists the stages of a message: arrival, each proof, queue, agent, commit, each attempt to deliver. */
function listRecordedStages({ message, trace, turn, steps = [], deliveries }: MessageRecord): readonly RecordedStage[] {
  const receivedAt = trace?.received_at ?? Date.parse(message.received_at)
  return [
    { name: 'received', at: receivedAt },
    ...(trace ? listSteps(trace) : []),
    ...(turn ? listTurn(turn, trace?.admitted_at ?? receivedAt) : []),
    ...steps.map(describeStep),
    ...deliveries.flatMap(listDelivery),
  ]
}

function listSteps({ received_at, steps, admitted_at }: IntakeTrace): readonly RecordedStage[] {
  const checkStages = steps.map(step => ({
    name: step.kind,
    at: received_at + step.after,
    ms: step.ms,
    outcome: describeCheck(step),
  }))
  return admitted_at === undefined ? checkStages : [...checkStages, { name: 'admitted', at: admitted_at }]
}

const keyOrigins: Readonly<Record<NonNullable<VerifyStep['key_from']>, string>> = {
  fetched: 'fetched from its host',
  cache: 'remembered',
  dns: 'from DNS',
  config: 'configured',
  message: 'sent along',
}

function describeCheck({ verdict, key_id, key_from }: VerifyStep): string {
  const key = [key_id === undefined ? 'key' : `key ${key_id}`, key_from && `(${keyOrigins[key_from]})`].filter(Boolean)
  return [verdict, ...(key_id === undefined && key_from === undefined ? [] : [key.join(' ')])].join(', ')
}

/** Describes a stage, call or note of the agent, which stands below its turn. */
function describeStep({ kind, name, at, ms, message, error }: TurnStep): RecordedStage {
  const number = message === undefined ? undefined : `#${message}`
  return {
    name: `  ${kind} ${name}`,
    at,
    ms,
    outcome: [number, error && `failed: ${error}`].filter(Boolean).join(', '),
  }
}

function listTurn({ attempts, due_at, is_leased, ended_at }: TurnRecord, admittedAt: number): readonly RecordedStage[] {
  const attemptStages = attempts.flatMap((attempt, index) => {
    const since = index === 0 ? admittedAt : (attempts[index - 1]?.ended_at ?? admittedAt)
    return [{ name: 'queued', at: since, ms: Math.max(0, attempt.leased_at - since) }, ...listAttempt(attempt)]
  })
  const isOver = ended_at !== undefined
  const nextStages = isOver || is_leased || due_at === undefined ? [] : [{ name: 'turn', at: due_at, outcome: 'due' }]
  const runningStages = is_leased
    ? [{ name: 'turn', at: attempts.at(-1)?.ended_at ?? admittedAt, outcome: 'running' }]
    : []
  return [...attemptStages, ...nextStages, ...runningStages, ...(isOver ? [{ name: 'committed', at: ended_at }] : [])]
}

function listAttempt(attempt: TurnAttempt): readonly RecordedStage[] {
  const { leased_at, called_at, first_output_at, ended_at, withheld = [], refused_acts = [] } = attempt
  const since = called_at ?? leased_at
  return [
    {
      name: called_at === undefined ? 'turn' : 'agent',
      at: since,
      ms: ended_at - since,
      outcome: describeAttempt(attempt),
    },
    ...(first_output_at === undefined ? [] : [{ name: '  first output', at: first_output_at }]),
    ...withheld.map(({ kind, text }) => ({ name: `  withheld ${kind}`, at: since, outcome: quoteStart(text) })),
    ...refused_acts.map(({ act, message }) => ({ name: `  refused ${act}`, at: since, outcome: message })),
    ...listRuns(attempt, since),
  ]
}

/** Lists requests to models and calls of tools in their order. */
function listRuns({ models = [], tools = [] }: TurnAttempt, since: number): readonly RecordedStage[] {
  const runs = [
    ...models.map(({ input_tokens, output_tokens, ...run }) => {
      const tokens = [input_tokens && `${input_tokens} in`, output_tokens && `${output_tokens} out`].filter(Boolean)
      return { ...run, kind: 'model', details: tokens.length > 0 ? [`${tokens.join(', ')} tokens`] : [] }
    }),
    ...tools.map(run => ({ ...run, kind: 'tool', details: [] })),
  ]
  const stages = runs.map(({ kind, name, at = since, ms, ok, details }) => {
    return { name: `  ${kind} ${name}`, at, ms, outcome: [ok ? 'ok' : 'failed', ...details].join(', ') }
  })
  return stages.toSorted((a, b) => a.at - b.at)
}

/** Returns the beginning of a text on one line. The JSON output has the full text. */
function quoteStart(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 100 ? `${line.slice(0, 100).toWellFormed()}…` : line
}

function describeAttempt({ attempt, outcome, error, next_at }: TurnAttempt): string {
  const errorText = error && `${error.name}: ${error.message}${formatErrorPosition(error)}`
  const retryNote = next_at !== undefined && `again at ${formatInstant(next_at)}`
  return [attempt > 1 && `attempt ${attempt}`, outcome.replace('_', ' '), errorText, retryNote]
    .filter(Boolean)
    .join(', ')
}

function listDelivery({ id, attempt_log, next_attempt_at }: DeliveryRecord): readonly RecordedStage[] {
  const attemptStages = attempt_log.map(({ attempt, at, ms, outcome, reply_line, error, next_at }) => {
    const retryNote = next_at !== undefined && `again at ${formatInstant(next_at)}`
    const outcomeText = [outcome, reply_line ?? error, retryNote].filter(Boolean).join(', ')
    return { name: attempt === 1 ? `delivery ${id}` : `delivery ${id} (${attempt})`, at, ms, outcome: outcomeText }
  })
  if (next_attempt_at === undefined) return attemptStages
  return [...attemptStages, { name: `delivery ${id}`, at: Date.parse(next_attempt_at), outcome: 'due' }]
}
