// Lists the stages of a message with their times, from its arrival to its deliveries.
import { formatCount, formatSize, shortenToLine } from '../../lib/format.js'

/**
 * One row of the waterfall; times are ms since 1970.
 * @typedef {object} Stage
 * @property {string} name
 * @property {string} note
 * @property {readonly { from: number, to: number, kind: string }[]} bars
 * @property {boolean} [isSub]
 * @property {string} [tone]
 * @property {number} [ms] the duration, if it is not the sum of the bars
 */

/** Lists everything that happened to a message. @param {any} record @returns {readonly Stage[]} */
export function listStages(record) {
  const steps = (record.steps ?? []).map(describeStep)
  return [...listArrival(record), ...listTurn(record), ...steps, ...record.deliveries.flatMap(listDelivery)]
}

/** @param {any} record @returns {readonly Stage[]} */
function listArrival({ message, proofs, number, trace }) {
  const bytes = rawSize(message.raw)
  const start = trace?.received_at ?? Date.parse(message.received_at)
  const steps = trace?.steps ?? []
  const checks = steps.filter((/** @type {any} */ { kind }) => !gatewaySteps.has(kind))
  const otherSteps = steps.filter((/** @type {any} */ { kind }) => gatewaySteps.has(kind))
  const lastEndOf = (/** @type {readonly any[]} */ list) =>
    Math.max(start, ...list.map(({ after, ms }) => start + after + ms))
  const firstStartOf = (/** @type {readonly any[]} */ list) => Math.min(...list.map(({ after }) => start + after))
  const provenAt = checks.length > 0 ? lastEndOf(checks) : start
  const admittedAt = trace?.admitted_at ?? provenAt
  const isFailed = proofs.some((/** @type {any} */ { verdict }) => verdict === 'fail')
  const firstStepAt = firstStartOf(steps)
  return [
    {
      name: bytes === undefined ? 'bytes received' : `bytes received, ${formatSize(bytes)}`,
      note: message.received_via,
      bars: [{ from: start, to: steps.length > 0 ? Math.max(start, firstStepAt) : start, kind: '' }],
    },
    {
      name: 'proof',
      note: message.sender.verified ? message.sender.auth_method : 'the sender is not proven',
      tone: message.sender.verified ? '' : 'warn',
      bars: [
        {
          from: checks.length > 0 ? firstStartOf(checks) : start,
          to: provenAt,
          kind: message.sender.verified ? 'proof' : isFailed ? 'broken' : 'late',
        },
      ],
    },
    ...proofs.map((/** @type {any} */ proof) => describeProof(proof, { start, steps: checks })),
    ...otherSteps
      .filter((/** @type {any} */ { ms }) => ms >= 1)
      .map((/** @type {any} */ { kind, after, ms, verdict }) => ({
        name: kind,
        note: verdict === 'pass' ? '' : verdict,
        isSub: true,
        bars: [{ from: start + after, to: start + after + ms, kind: '' }],
      })),
    {
      name: `admitted as #${number}`,
      note: 'on disk, acknowledged',
      bars: [{ from: Math.min(admittedAt, Math.max(provenAt, lastEndOf(otherSteps))), to: admittedAt, kind: '' }],
    },
  ]
}

/** Steps of the gateway that prove nothing about the sender. */
const gatewaySteps = new Set(['resolve', 'normalize', 'rules'])

/** @param {any} proof @param {{ start: number, steps: readonly any[] }} around @returns {Stage} */
function describeProof({ kind, verdict, reason, key_id, ...details }, { start, steps }) {
  const step = steps.find(
    each => each.kind === kind && (key_id === undefined || each.key_id === undefined || each.key_id === key_id),
  )
  const origin = step?.key_from ? ` · key: ${step.key_from}` : ''
  const covered = details.covers ?? details.covered
  const said = [
    verdict,
    reason,
    details.domain ?? details.issuer ?? details.address,
    covered && `covers ${Array.isArray(covered) ? covered.join(' ') : covered}`,
    key_id,
  ]
  const isGood = verdict === 'pass'
  return {
    name: `${proofNames[kind] ?? kind.replaceAll('-', ' ')}${origin}`,
    note: shortenToLine(said.filter(Boolean).join(' · ')),
    isSub: true,
    tone: isGood ? '' : verdict === 'fail' ? 'bad' : 'warn',
    bars: step
      ? [
          {
            from: start + step.after,
            to: start + step.after + step.ms,
            kind: isGood ? 'proof' : verdict === 'fail' ? 'broken' : 'late',
          },
        ]
      : [],
  }
}

/** @type {Record<string, string>} */
const proofNames = {
  dkim: 'DKIM',
  spf: 'SPF',
  dmarc: 'DMARC',
  arc: 'ARC',
  jwt: 'token',
  webfinger: 'WebFinger',
  'http-signature': 'HTTP signature',
}

/** @param {any} record @returns {readonly Stage[]} */
function listTurn({ message, turn, trace, response, error, merged_into }) {
  const agent = message.recipient.split('@')[1] ?? 'agent'
  const start = trace?.admitted_at ?? Date.parse(message.received_at)
  if (merged_into !== undefined)
    return [{ name: `with #${merged_into}`, note: 'answered together with a later message', bars: [] }]
  const attempts = turn?.attempts ?? []
  if (attempts.length === 0) {
    if (!response) return error ? [{ name: `${agent} failed`, note: shortenToLine(error), tone: 'bad', bars: [] }] : []
    return [
      {
        name: `${agent} answered`,
        note: sayUsage(response.usage),
        bars: [{ from: start, to: Date.parse(response.created_at), kind: 'agent' }],
      },
    ]
  }
  return attempts.flatMap((/** @type {any} */ attempt, /** @type {number} */ at) => {
    const before = at === 0 ? start : (attempts[at - 1]?.ended_at ?? start)
    return [
      ...(attempt.leased_at > before
        ? [
            {
              name: at === 0 ? 'waited for its turn' : 'waited to try again',
              note: '',
              bars: [{ from: before, to: attempt.leased_at, kind: 'queue' }],
            },
          ]
        : []),
      ...describeAttempt(attempt, agent),
    ]
  })
}

/** @param {any} attempt @param {string} agent @returns {readonly Stage[]} */
function describeAttempt(attempt, agent) {
  const { called_at, leased_at, ended_at, first_output_at, outcome, error, usage } = attempt
  const from = called_at ?? leased_at
  const isGood = outcome === 'answered' || outcome === 'silent'
  const location = error?.file ? `${error.file}:${error.line} ` : ''
  const note = error ? `${location}${error.message}` : sayUsage(usage)
  const words = isGood ? outcome : outcome.replaceAll('_', ' ')
  return [
    {
      name: `${agent} ${outcome === 'silent' ? 'said nothing' : words}${attempt.attempt > 1 ? `, attempt ${attempt.attempt}` : ''}`,
      note: shortenToLine(note),
      tone: isGood ? '' : 'bad',
      bars: [{ from, to: ended_at, kind: isGood ? 'agent' : 'broken' }],
    },
    ...(first_output_at !== undefined && first_output_at > from
      ? [{ name: 'first words', note: '', isSub: true, bars: [{ from, to: first_output_at, kind: 'part' }] }]
      : []),
    ...listRuns(attempt),
  ]
}

/** Lists the requests to models and the calls of tools of an attempt, in order. @param {any} attempt @returns {readonly Stage[]} */
function listRuns({ models = [], tools = [] }) {
  const runs = [
    ...models.map((/** @type {any} */ run) => ({
      ...run,
      name: `model ${run.name}`,
      note: sayUsage([{ ...run, model: '' }]),
    })),
    ...tools.map((/** @type {any} */ run) => ({ ...run, name: `tool ${run.name}`, note: '' })),
  ]
  return runs
    .toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0))
    .map(({ name, note, at, ms, ok }) => ({
      name,
      note: ok ? note : 'failed',
      tone: ok ? '' : 'bad',
      isSub: true,
      // Records of older versions have no start time.
      bars: at === undefined ? [] : [{ from: at, to: at + (ms ?? 0), kind: ok ? 'part' : 'broken' }],
      ms,
    }))
}

/** Shows a note that the agent made in its turn. @param {any} step @returns {Stage} */
function describeStep({ kind, name, at, ms, message, error }) {
  return {
    name: `${kind} ${name}`,
    note: shortenToLine([message && `#${message}`, error].filter(Boolean).join(' · ')),
    tone: error ? 'bad' : '',
    isSub: true,
    bars: [{ from: at, to: at + (ms ?? 0), kind: error ? 'broken' : 'part' }],
  }
}

/** @param {readonly any[] | undefined} usage */
function sayUsage(usage = []) {
  return usage
    .map(({ model, input_tokens, output_tokens }) =>
      [
        model,
        input_tokens && `${formatCount(input_tokens, 'token')} in`,
        output_tokens && `${output_tokens.toLocaleString('en')} out`,
      ]
        .filter(Boolean)
        .join(', '),
    )
    .join(' · ')
}

/** @param {any} delivery @returns {readonly Stage[]} */
function listDelivery({ to, state, attempt_log = [], queued_at, ended_at, last_error, next_attempt_at }) {
  const name = `delivery to ${to}`
  if (attempt_log.length === 0) {
    const from = queued_at ? Date.parse(queued_at) : undefined
    const bars = from === undefined ? [] : [{ from, to: ended_at ? Date.parse(ended_at) : from, kind: kindOf(state) }]
    return [{ name, note: shortenToLine(last_error ?? sayState(state, next_attempt_at)), tone: toneOf(state), bars }]
  }
  return attempt_log.map((/** @type {any} */ { attempt, at, ms, outcome, reply_line, status, error }) => ({
    name: attempt > 1 ? `attempt ${attempt}` : name,
    isSub: attempt > 1,
    note: shortenToLine([reply_line ?? status, outcome === 'sent' ? '' : error].filter(Boolean).join(' · ') || outcome),
    tone: toneOf(outcome),
    bars: [{ from: at, to: at + ms, kind: kindOf(outcome) }],
  }))
}

/** @param {string} state @param {string | undefined} next */
function sayState(state, next) {
  return next ? `${state}, next attempt at ${next.slice(11, 19)} UTC` : state
}

/** @param {string} state */
function kindOf(state) {
  return state === 'sent' ? 'proof' : state === 'dead' ? 'broken' : state === 'later' ? 'late' : 'queue'
}

/** @param {string} state */
function toneOf(state) {
  return state === 'dead' ? 'bad' : state === 'later' ? 'warn' : ''
}

/** @param {unknown} raw */
function rawSize(raw) {
  if (raw === undefined || raw === null) return undefined
  return new TextEncoder().encode(typeof raw === 'string' ? raw : JSON.stringify(raw)).length
}
