import type {
  DeliveryRecord,
  IntakeTrace,
  MessageRecord,
  Part,
  Proof,
  TokenUsage,
  TurnAttempt,
  TurnRecord,
  VerifyStep,
} from '@postern/core'
import { toTerminalLine } from '../../terminal/text.ts'

/** One message as a person reads it: who, how proven, what was said, what was answered, where it went. */
export function formatRecord(record: MessageRecord): string {
  const {
    number,
    message,
    proofs,
    state,
    flags,
    response,
    deliveries,
    duplicates,
    error,
    correlation_id,
    merged_into,
    namesakes = [],
  } = record
  const { sender } = message
  const sections: readonly (readonly [string, readonly string[]])[] = [
    [
      'message',
      [
        `#${number} ${message.id}`,
        ...(namesakes.length > 0 ? [`also ${namesakes.map(other => `#${other}`).join(', ')}: same id`] : []),
        `thread ${message.thread_id}`,
        `${message.received_via} to ${message.recipient} at ${message.received_at}`,
      ],
    ],
    [
      'sender',
      [
        `${sender.address}${sender.display_name ? ` (${sender.display_name})` : ''}`,
        `${sender.auth_method}, ${sender.verified ? 'verified' : 'not verified'}${sender.key_id ? `, key ${sender.key_id}` : ''}`,
      ],
    ],
    ['proofs', proofs.map(formatProof)],
    ['said', message.parts.flatMap(formatPart)],
    [
      'state',
      [
        [state, ...flags].join(', '),
        ...(error ? [error] : []),
        ...(merged_into === undefined ? [] : [`together with #${merged_into}`]),
        ...(duplicates ? [`sent again ${duplicates} times`] : []),
        `correlation ${correlation_id}`,
      ],
    ],
    ['waterfall', formatWaterfall(listRecordedStages(record))],
    ['answered', response ? [response.status, ...response.parts.flatMap(formatPart)] : ['nothing']],
    ...(response?.usage ? [['cost', response.usage.map(formatUsage)] as const] : []),
    [
      'deliveries',
      deliveries.map(
        ({ id, via, to, state, attempts, last_error }) =>
          `${id} ${via} ${to}: ${state} after ${attempts} ${attempts === 1 ? 'try' : 'tries'}${last_error ? ` (${last_error})` : ''}`,
      ),
    ],
  ]
  return sections
    .map(([title, lines]) => `${title}\n${lines.map(line => `  ${toTerminalLine(line)}\n`).join('')}`)
    .join('')
}

function formatProof({ kind, verdict, reason, key_id, code }: Proof): string {
  const named = typeof code === 'string' ? ` (${code})` : ''
  return [`${kind}: ${verdict}${named}`, ...(reason ? [reason] : []), ...(key_id ? [`key ${key_id}`] : [])].join(', ')
}

/** One model: what went in and came out, and what of it was cached or thought. */
function formatUsage({ provider, model = 'unnamed', ...counts }: TokenUsage): string {
  const parts = usageWords.flatMap(([member, words]) =>
    counts[member] === undefined ? [] : [`${counts[member]} ${words}`],
  )
  return `${provider === undefined ? model : `${provider} ${model}`}: ${parts.join(', ')} (tokens)`
}

const usageWords = [
  ['input_tokens', 'in'],
  ['cached_input_tokens', 'of it cached'],
  ['cache_write_input_tokens', 'of it written into a cache'],
  ['output_tokens', 'out'],
  ['reasoning_tokens', 'of it thought'],
  ['total_tokens', 'in all'],
] as const

/** Lines end only where a text has them: nothing else can begin a line that looks like ours. */
function formatPart(part: Part): readonly string[] {
  if (part.kind === 'text') return part.content.split('\n')
  if (part.kind === 'link') return [part.url]
  if (part.kind === 'policy') return [`[${part.policy.kind}] ${part.policy.message}`]
  return [`[${part.kind}] ${'name' in part ? (part.name ?? '') : ''}`.trim()]
}

/** Columns of the axis. */
const width = 32
/** Up to here the axis is even; what takes longer has its beginning spread out. */
const longestEvenMs = 60_000

/** The stages of a message under one axis, a line each: when, how long, where on the axis, and how it came out. */
function formatWaterfall(stages: readonly RecordedStage[]): readonly string[] {
  const start = Math.min(...stages.map(({ at }) => at))
  const end = Math.max(...stages.map(({ at, ms = 0 }) => at + ms))
  const place = createAxis(end - start)
  const names = Math.max(...stages.map(({ name }) => name.length))
  const heading = `${''.padEnd(names)}  ${'after'.padStart(8)}  ${'took'.padStart(8)}  ${formatDuration(0)}${formatDuration(end - start).padStart(width - formatDuration(0).length)}`
  const lines = stages.map(({ name, at, ms, outcome = '' }) => {
    const [after, took] = [formatDuration(at - start), ms === undefined ? '' : formatDuration(ms)]
    const bar = drawBar(place(at - start), place(at - start + (ms ?? 0)), ms === undefined)
    return `${name.padEnd(names)}  ${after.padStart(8)}  ${took.padStart(8)}  ${bar}  ${outcome}`.trimEnd()
  })
  return [heading, ...lines]
}

/** ms after the start → column. */
function createAxis(total: number): (ms: number) => number {
  const scale = total > longestEvenMs ? Math.log1p : (ms: number) => ms
  const whole = scale(total) || 1
  return ms => Math.min(width - 1, Math.floor((scale(Math.max(0, ms)) / whole) * width))
}

function drawBar(from: number, until: number, isInstant: boolean): string {
  const drawn = isInstant ? '│' : '█'.repeat(Math.max(1, until - from))
  return `${' '.repeat(from)}${drawn}`.slice(0, width).padEnd(width)
}

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** `0.4 ms`, `12 ms`, `1.5 s`, `2.3 h` */
export function formatDuration(ms: number): string {
  const found = units.find(([size]) => ms >= size)
  if (!found) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`
  const [size, unit] = found
  const count = ms / size
  return `${count < 10 ? Math.round(count * 10) / 10 : Math.round(count)} ${unit}`
}

/** One thing that happened to a message, on the one axis of its time. Instants are ms since 1970, durations ms. */
interface RecordedStage {
  readonly name: string
  readonly at: number
  /** Absent of what has no length. */
  readonly ms?: number | undefined
  /** How it came out. */
  readonly outcome?: string | undefined
}

/** What happened to a message, in the order of time: bytes, each proof, queue, agent, commit, each attempt to deliver. */
function listRecordedStages({ message, trace, turn, deliveries }: MessageRecord): readonly RecordedStage[] {
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
