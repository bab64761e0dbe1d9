// Replays the messages of a period, one page at a time.
import type { ListPeriod, MessageSummary, Page } from '@postern/pipeline'
import type { ReplayDeps, ReplayOptions } from './replay.ts'
import { replayMessage } from './replay.ts'
import type { ReplayPage, ReplayReport } from './report.ts'

/** The messages to replay, newest first. */
interface ReplayRange extends Page, ListPeriod {
  readonly channel?: string | undefined
  readonly agent?: string | undefined
}

/** The maximum number of messages that one page reads, whether they match or not. */
const maxMessagesRead = 500

/** Replays one page of a range, one message after the other. */
export async function replayRange(range: ReplayRange, options: ReplayOptions, deps: ReplayDeps): Promise<ReplayPage> {
  const { store } = deps.turn
  const items: ReplayReport[] = []
  const page = await store.listMessages({ limit: maxMessagesRead, after: range.after })
  for (const summary of page) {
    if (isBefore(summary, range.since)) return { items, next: null }
    if (!isInRange(summary, range)) continue
    const record = await store.findMessage(`#${summary.message}`)
    if (record) items.push(await replayMessage(record, options, deps))
    if (items.length >= range.limit) return { items, next: summary.message }
  }
  return { items, next: page.length < maxMessagesRead ? null : (page.at(-1)?.message ?? null) }
}

function isBefore({ received_at }: MessageSummary, since: string | undefined): boolean {
  return since !== undefined && Date.parse(received_at) < Date.parse(since)
}

function isInRange(summary: MessageSummary, { until, channel, agent }: ReplayRange): boolean {
  return (
    (channel === undefined || summary.via === channel) &&
    (agent === undefined || summary.agent === agent) &&
    (until === undefined || Date.parse(summary.received_at) < Date.parse(until))
  )
}
