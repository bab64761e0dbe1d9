import type { MessageRecord, Part, Proof, TokenUsage } from '@postern/core'
import { toTerminalLine } from '../../terminal/text.ts'
import { listRecordedStages } from './stages.ts'
import { formatWaterfall } from './waterfall.ts'

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
