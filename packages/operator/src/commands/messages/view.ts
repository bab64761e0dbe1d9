// Prints messages, deliveries and refusals, and changes a delivery.
import type { DeliveryAttempt } from '@postern/message'
import type { DeliveryRecord, MessageSummary, Refusal } from '@postern/pipeline'
import { withClient } from '../../client/client.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { Fix } from '../../why/reason.ts'
import { reasonOfRefusal } from '../../why/rules/refusals.ts'
import type { ApiOutput } from '../context.ts'
import type { PrintAnswer } from '../operation-view.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import { parsePeriod } from '../parse-period.ts'
import { readPages } from '../print-list.ts'
import { formatDuration, formatInstant } from './format-time.ts'
import type { DeliveryChange, MessageFilter } from './operations.ts'
import { deliveryOperations, messageOperations, refusalOperations } from './operations.ts'
import { formatRecord } from './show.ts'

interface MessageOptions extends MessageFilter {
  readonly follow?: boolean
}

/** Prints messages by a filter, and with `follow` then each one that arrives or changes. */
export async function printMessages(output: ApiOutput, { follow, ...options }: MessageOptions): Promise<void> {
  const filter = parsePeriod(options)
  if (follow) {
    const { followMessages } = await import('./follow.ts')
    return withClient(output, client => followMessages(client, output, filter))
  }
  const { limit = 20, ...query } = filter
  const page = await withClient(output, client =>
    readPages(limit, position => client.call(messageOperations.list, { query: { ...query, ...position } })),
  )
  output.print(output.json ? JSON.stringify(page, null, 2) : formatMessages(page.items))
}

function formatMessages(items: readonly MessageSummary[]): string {
  return formatTable(
    ['#', 'received', 'via', 'agent', 'state', 'sender', 'id'],
    items.map(({ message, received_at, via, agent, state, flags, sender, verified, id }) => [
      `#${message}`,
      received_at.slice(0, 19),
      via,
      agent,
      [state, ...flags].join(' '),
      verified ? sender : `${sender}?`,
      id,
    ]),
  )
}

export const printMessage = createOperationView(messageOperations.find, formatRecord)

const changeNotes: Readonly<Record<DeliveryChange, string>> = {
  retry: 'tried again now',
  drop: 'dropped',
  dismiss: 'dismissed',
}

export const deliveryViews = {
  list: createListView(deliveryOperations.list, formatDeliveries, filter => ({ ...filter, limit: 50 })),
  show: createOperationView(deliveryOperations.find, formatDelivery),
  retry: changeDelivery('retry'),
  drop: changeDelivery('drop'),
  dismiss: changeDelivery('dismiss'),
}

function changeDelivery(action: DeliveryChange): PrintAnswer {
  return createOperationView(deliveryOperations.change, ({ id }) => `${id}: ${changeNotes[action]}`, {
    read: ({ id }) => ({ id, action }),
  })
}

function formatDeliveries(deliveries: readonly DeliveryRecord[]): string {
  return formatTable(
    ['id', 'via', 'state', 'tries', 'to', 'tried', 'took', 'answer', 'next'],
    deliveries.map(({ id, via, state, attempts, to, last_error, attempt_log, next_attempt_at }) => [
      id,
      via,
      state,
      String(attempts),
      to,
      ...describeAttempt(attempt_log.at(-1), last_error),
      next_attempt_at?.slice(0, 19) ?? '',
    ]),
  )
}

/** Returns the time, the duration and the reply of the last attempt. */
function describeAttempt(attempt: DeliveryAttempt | undefined, error = ''): readonly string[] {
  if (!attempt) return ['', '', error]
  const { at, ms, reply_line, error: attemptError, outcome } = attempt
  return [formatInstant(at).slice(0, 19), formatDuration(ms), reply_line ?? attemptError ?? outcome]
}

function formatDelivery({ id, via, to, state, message_id, queued_at, attempt_log, next_attempt_at }: DeliveryRecord) {
  const lines = [
    `delivery ${id} by ${via} to ${to}: ${state}`,
    `of the answer to ${message_id}`,
    `queued ${queued_at}`,
    ...(next_attempt_at === undefined ? [] : [`next attempt ${next_attempt_at}`]),
  ]
  const rows = attempt_log.map(({ attempt, at, ms, outcome, reply_line, error, next_at }) => [
    String(attempt),
    new Date(at).toISOString(),
    formatDuration(ms),
    outcome,
    next_at === undefined ? '' : formatInstant(next_at),
    [reply_line, error].filter(Boolean).join(' · '),
  ])
  return `${lines.map(toTerminalLine).join('\n')}\n${formatTable(['attempt', 'at', 'took', 'outcome', 'next', 'answer'], rows)}`
}

export const printRefusals = createListView(refusalOperations.list, formatRefusals, parsePeriod)

/** Formats refusals as a table. The fixes are listed below it, because many rows share one. */
function formatRefusals(items: readonly Refusal[]): string {
  const now = Date.now()
  const reasons = items.map(refusal => reasonOfRefusal(refusal, now))
  const table = formatTable(
    ['at', 'via', 'endpoint', 'status', 'why', 'claims to be from', 'for', 'peer', 'reason'],
    items.map(({ at, via, endpoint = '', status, claimed_sender = '', agent = '', from, reason }, row) => [
      at.slice(0, 19),
      via,
      endpoint,
      status === undefined ? '' : String(status),
      reasons[row]?.code ?? '',
      claimed_sender,
      agent,
      from,
      reason,
    ]),
  )
  const fixes = new Set(reasons.flatMap(({ code, fix }) => (fix ? [`${code}: ${formatFix(fix)}`] : [])))
  return fixes.size === 0 ? table : [table, '', ...[...fixes].map(toTerminalLine)].join('\n')
}

function formatFix({ text, command }: Fix): string {
  return command === undefined ? text : `${text} → ${command}`
}
