// Prints what replays of stored messages would change.
import type { OperationInput } from '../../api/call.ts'
import type { OperatorClient } from '../../client/client.ts'
import { CommandError, withClient } from '../../client/client.ts'
import type { ReplayChange, ReplayReport } from '../../replay/report.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { parsePeriod } from '../parse-period.ts'
import { printAnswer } from '../print-list.ts'
import { replayOperations } from './operations.ts'

interface ReplayOptions {
  readonly agent?: string
  readonly now?: true
  readonly call?: true
  readonly commit?: true
  readonly again?: true
  readonly since?: string
  readonly until?: string
  readonly channel?: string
  readonly to?: string
  readonly limit?: string
}

/** Replays one message, or the range that the options name. */
export async function runReplay(output: ApiOutput, { id, ...options }: ReplayOptions & { readonly id?: string }) {
  if (id === undefined) await printReplays(output, options)
  else await printReplay(output, id, options)
}

/** Replays one message. The exit code is 1 if something differs. */
export async function printReplay(output: ApiOutput, id: string, options: ReplayOptions): Promise<void> {
  const input = {
    parameters: { id },
    body: { ...readReplaySettings(options), commit: options.commit === true, again: options.again === true },
  }
  await printAnswer(output, {
    operation: replayOperations.one,
    input,
    format: formatReport,
    onAnswer({ outcome }) {
      if (outcome !== 'same') process.exitCode = 1
    },
  })
}

/** Replays a range, and prints each message that differs, and the counts. The exit code is 1 if a message differs. */
export async function printReplays(output: ApiOutput, options: ReplayOptions): Promise<void> {
  if (options.commit || options.again)
    throw new CommandError('cannot replay: --commit is for one message; name its number or id')
  const maxMessages = readCount(options.limit)
  const request = { ...readReplaySettings(options), ...readRange(options) }
  const counts: Record<ReplayReport['outcome'], number> = { same: 0, changed: 0, refused: 0, skipped: 0 }
  await withClient(output, async client => {
    for await (const report of listReplays(client, request, maxMessages)) {
      counts[report.outcome] += 1
      if (output.json) output.print(JSON.stringify(report))
      else if (report.outcome !== 'same') output.print(formatReport(report))
    }
  })
  if (!output.json) output.print(formatCounts(counts))
  if (counts.changed + counts.refused > 0) process.exitCode = 1
}

type ReplayRange = OperationInput<typeof replayOperations.range>['body']

/** Replays page by page, so that a long range prints its first results early. */
async function* listReplays(
  client: OperatorClient,
  request: ReplayRange,
  maxMessages: number,
): AsyncGenerator<ReplayReport> {
  let remainingCount = maxMessages
  let after: number | undefined
  do {
    const body = { ...request, limit: Math.min(remainingCount, 20), ...(after !== undefined && { after }) }
    const { items, next } = await client.call(replayOperations.range, { body })
    yield* items
    remainingCount -= items.length
    after = next ?? undefined
  } while (after !== undefined && remainingCount > 0)
}

function readReplaySettings({ agent, now, call }: ReplayOptions) {
  return {
    ...(agent !== undefined && { use: agent }),
    clock: now ? ('now' as const) : ('then' as const),
    call: call === true,
  }
}

function readRange({ channel, to, ...options }: ReplayOptions) {
  const { since, until } = parsePeriod(options)
  return {
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(channel !== undefined && { channel }),
    ...(to !== undefined && { agent: to }),
  }
}

function readCount(text = '1000'): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new CommandError('cannot replay: --limit must be a whole number from 1')
}

function formatReport(report: ReplayReport): string {
  const { message, id, via, agent, received_at, outcome, reason, not_called, queued } = report
  const sections = [
    ['proofs', report.proofs],
    ['message', report.normalized],
    ['answer', report.response],
    ['wire', report.wire],
  ] as const
  const lines = [
    `#${message} ${id}`,
    `  ${via} to ${agent} at ${received_at}: ${outcome}${reason ? `, ${reason}` : ''}`,
    ...sections.flatMap(([title, changes]) => formatChanges(title, changes)),
    ...(not_called ? [`  no new answer: ${not_called}`] : []),
    ...(queued ? [`  ${formatQueued(queued)}`] : []),
  ]
  return lines.map(toTerminalLine).join('\n')
}

function formatChanges(title: string, changes: readonly ReplayChange[]): readonly string[] {
  return changes.flatMap(({ path, before, after }) => [
    `  ${title}${path === '' ? '' : ` ${path}`}`,
    ...(before === undefined ? [] : formatSide('-', before)),
    ...(after === undefined ? [] : formatSide('+', after)),
  ])
}

function formatSide(sign: '-' | '+', value: unknown): readonly string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.split('\n').map(line => `    ${sign} ${line}`)
}

function formatQueued({ kind, response, reason }: NonNullable<ReplayReport['queued']>): string {
  if (kind === 'nothing') return `nothing was queued: ${reason ?? ''}`
  return kind === 'edit' ? `queued: a change of the answer ${response}` : `queued: the first answer, ${response}`
}

function formatCounts({ same, changed, refused, skipped }: Readonly<Record<ReplayReport['outcome'], number>>): string {
  const total = same + changed + refused + skipped
  return `${total} replayed: ${same} the same, ${changed} changed, ${refused} refused, ${skipped} skipped`
}
