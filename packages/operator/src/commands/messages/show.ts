// Formats one message: sender, proofs, text, stages with their times, answer and deliveries.
import type { Part, Proof, TokenUsage } from '@postern/message'
import { threadSourceOf } from '@postern/message'
import type { DeliveryRecord, MessageRecord } from '@postern/pipeline'
import { toTerminalLine } from '../../terminal/text.ts'
import { formatWaterfall } from './waterfall.ts'

/** Formats a message in sections. Each line is safe for a terminal. */
export function formatRecord(record: MessageRecord): string {
  const { message, proofs, response, deliveries } = record
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ['message', formatIdentity(record)],
    ['sender', formatSender(message)],
    ['proofs', proofs.map(formatProof)],
    ['said', message.parts.flatMap(formatPart)],
    ['state', formatState(record)],
    ['waterfall', formatWaterfall(record)],
    ['answered', response ? [response.status, ...response.parts.flatMap(formatPart)] : ['nothing']],
    ...(response?.usage ? [['cost', response.usage.map(formatUsage)] as const] : []),
    ['deliveries', deliveries.map(formatDelivery)],
  ]
  return sections
    .map(([title, lines]) => `${title}\n${lines.map(line => `  ${toTerminalLine(line)}\n`).join('')}`)
    .join('')
}

function formatIdentity({ number, message, namesakes = [] }: MessageRecord): readonly string[] {
  return [
    `#${number} ${message.id}`,
    ...(namesakes.length > 0 ? [`also ${namesakes.map(namesake => `#${namesake}`).join(', ')}: same id`] : []),
    `thread ${message.thread_id}, begun as ${threadSourceOf(message)}`,
    `${message.received_via} to ${message.recipient} at ${message.received_at}`,
  ]
}

function formatState({ state, flags, error, merged_into, duplicates, correlation_id }: MessageRecord) {
  return [
    [state, ...flags].join(', '),
    ...(error ? [error] : []),
    ...(merged_into === undefined ? [] : [`together with #${merged_into}`]),
    ...(duplicates ? [`sent again ${duplicates} times`] : []),
    `correlation ${correlation_id}`,
  ]
}

function formatDelivery({ id, via, to, state, attempts, last_error }: DeliveryRecord): string {
  const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`
  return `${id} ${via} ${to}: ${state} after ${tries}${last_error ? ` (${last_error})` : ''}`
}

function formatSender(message: MessageRecord['message']): readonly string[] {
  const { address, display_name, auth_method, verified, key_id } = message.sender
  return [
    `${address}${display_name ? ` (${display_name})` : ''}`,
    `${auth_method}, ${verified ? 'verified' : 'not verified'}${key_id ? `, key ${key_id}` : ''}`,
    ...describeCaller(message),
  ]
}

/** Names the turn of another agent that called. */
function describeCaller({ called_by }: MessageRecord['message']): readonly string[] {
  if (!called_by) return []
  const { agent, message, on_behalf } = called_by
  return [`called by ${agent} in #${message}${on_behalf ? ', on behalf of its sender' : ''}`]
}

function formatProof({ kind, verdict, reason, key_id, code }: Proof): string {
  const codeNote = typeof code === 'string' ? ` (${code})` : ''
  return [`${kind}: ${verdict}${codeNote}`, ...(reason ? [reason] : []), ...(key_id ? [`key ${key_id}`] : [])].join(
    ', ',
  )
}

const usageLabels = [
  ['input_tokens', 'in'],
  ['cached_input_tokens', 'read from a cache'],
  ['cache_write_input_tokens', 'written to a cache'],
  ['output_tokens', 'out'],
  ['reasoning_tokens', 'for reasoning'],
  ['total_tokens', 'in all'],
] as const

/** Formats the tokens of one model: input and output, and the cached and reasoning tokens among them. */
function formatUsage({ provider, model = 'unnamed', ...counts }: TokenUsage): string {
  const countTexts = usageLabels.flatMap(([member, label]) =>
    counts[member] === undefined ? [] : [`${counts[member]} ${label}`],
  )
  return `${provider === undefined ? model : `${provider} ${model}`}: ${countTexts.join(', ')} (tokens)`
}

/** Breaks lines only where a text does, so that no foreign value can begin a line. */
function formatPart(part: Part): readonly string[] {
  if (part.kind === 'text') return part.content.split('\n')
  if (part.kind === 'link') return [part.url]
  if (part.kind === 'policy') return [`[${part.policy.kind}] ${part.policy.message}`]
  return [`[${part.kind}] ${'name' in part ? (part.name ?? '') : ''}`.trim()]
}
