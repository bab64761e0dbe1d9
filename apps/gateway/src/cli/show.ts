import type { MessageRecord, Part, Proof } from '@postern/core'

/** One message as a person reads it: who, how proven, what was said, what was answered, where it went. */
export function formatRecord({
  message,
  proofs,
  state,
  flags,
  response,
  deliveries,
  duplicates,
  error,
  correlation_id,
}: MessageRecord): string {
  const { sender } = message
  const sections: readonly (readonly [string, readonly string[]])[] = [
    [
      'message',
      [
        `${message.id}`,
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
    ['said', message.parts.map(formatPart)],
    [
      'state',
      [
        [state, ...flags].join(', '),
        ...(error ? [error] : []),
        ...(duplicates ? [`sent again ${duplicates} times`] : []),
        `correlation ${correlation_id}`,
      ],
    ],
    ['answered', response ? [response.status, ...response.parts.map(formatPart)] : ['nothing']],
    [
      'deliveries',
      deliveries.map(
        ({ id, via, to, state, attempts, last_error }) =>
          `${id} ${via} ${to}: ${state} after ${attempts} ${attempts === 1 ? 'try' : 'tries'}${last_error ? ` (${last_error})` : ''}`,
      ),
    ],
  ]
  return sections
    .map(([title, lines]) => `${title}\n${lines.map(line => `  ${line.replaceAll('\n', '\n  ')}\n`).join('')}`)
    .join('')
}

function formatProof({ kind, verdict, reason, key_id }: Proof): string {
  return [`${kind}: ${verdict}`, ...(reason ? [reason] : []), ...(key_id ? [`key ${key_id}`] : [])].join(', ')
}

function formatPart(part: Part): string {
  if (part.kind === 'text') return part.content
  if (part.kind === 'link') return part.url
  if (part.kind === 'policy') return `[${part.policy.kind}] ${part.policy.message}`
  return `[${part.kind}] ${'name' in part ? (part.name ?? '') : ''}`.trim()
}
