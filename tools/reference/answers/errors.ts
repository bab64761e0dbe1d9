// Writes docs/reference/errors.md from the error codes and their causes.

import { toProblem } from '@postern/http'
import type { RejectionCode } from '@postern/message'
import { Rejection, rejectionCodes, Unavailable } from '@postern/message'
import type { Refusal } from '@postern/pipeline'
import { toA2aError } from '../../../packages/a2a/src/format/errors.ts'
import { toSmtpReply } from '../../../packages/email/src/smtp/replies.ts'
import { writeFix } from '../../../packages/operator/src/why/reason.ts'
import { refusalCases } from '../../../packages/operator/src/why/rules/refusals.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from '../markdown.ts'

const intro = `
The gateway answers a request that it does not take with one of these codes. Each code has its meaning, its causes and their fixes.

- HTTP answers are problem details (RFC 9457): \`title\`, \`status\`, \`detail\`, \`code\`, and \`violations\` if single members of the request are wrong.
- No answer says more about a fault of the gateway than that there is one. The log has the rest.
- \`npx postern refusals\` and \`/operator/api/refusals\` list refusals: time, source, code and reason, never the content.
- \`npx postern why\` names the cause of one refusal or message by the words in front of each cause below.
`

const acceptedRequests = `
## Requests that the gateway takes

| | ActivityPub | A2A | mail |
| --- | --- | --- | --- |
| accepted | 202 | the task or the message | 200, 250 |
| a duplicate | as accepted | the same task | as accepted |
| well formed, and nothing to do | 202 | – | 200, 250 |

The gateway answers a peer when the message is durable. A duplicate gets the first answer again, and no agent sees it.
`

const exceptions = `
## Exceptions

- The gateway takes mail without an aligned proof as unverified. If the author's domain publishes \`p=reject\`, it answers \`forbidden\` (\`email.trust.dmarc_reject\`). Under \`p=quarantine\` it keeps the mail from the agents.
- On JSON-RPC an error of the protocol has the HTTP status 200. An error of the transport keeps its status: 401, 403, 404, 405, 413, 415, 429, 500 or 503.
- \`rate_limited\` and \`unavailable\` carry \`Retry-After\`, over A2A also \`google.rpc.RetryInfo\`. SMTP names the seconds of \`rate_limited\` in its text.
- A proof that counts once (a \`jti\`) gets \`replayed\` at its second use. A message that comes twice is a duplicate, and no error.
- Operations of A2A have more precise errors, such as \`TASK_NOT_FOUND\`: [A2A](../explanation/a2a/calling.md).
`

/** The meaning of each code. A code without a meaning does not compile. */
const meanings: Readonly<Record<RejectionCode, string>> = {
  malformed: 'The request is not well formed, or says what it may not.',
  too_large: 'The request, or a part of it, is larger than the gateway takes.',
  unsupported: 'The gateway does not know or does not offer this media type or operation.',
  unsigned: 'Nothing proves who sends.',
  signature_invalid: 'The signature does not fit, or its key is not there.',
  signer_mismatch: 'The request names another sender than its proof.',
  expired: 'The proof is too old, or of the future.',
  replayed: 'The proof counts once, and somebody has used it.',
  forbidden: 'The gateway knows the sender, and they may not do this.',
  no_recipient: 'There is no such agent, document or task here.',
  rate_limited: 'The sender, their host or the agent has reached a limit.',
}

const errorClasses: readonly (readonly [name: string, meaning: string, actor: string])[] = [
  ['Rejection', 'The peer sent what the gateway does not take.', 'the peer'],
  [
    'Unavailable',
    'Something that the gateway depends on did not answer; it may say when to come again.',
    'nobody: the peer or the gateway tries again',
  ],
  ['Undeliverable', 'The far side refused an answer for good.', 'the operator: see `postern deliveries`'],
  ['ConfigError', 'The configuration is wrong; the message has the key, the cause and the fix.', 'the operator'],
  [
    'TurnAborted',
    'Nobody wants the turn any more: its sender canceled, deleted or edited the message, or the process ends.',
    'nobody: an agent stops when its signal aborts',
  ],
  ['LeaseLost', 'Another worker has taken the work; the result counts for nothing.', 'nobody'],
  ['any other error', 'A fault of the gateway or of an agent.', 'its maintainer, by the log'],
]

/** Writes docs/reference/errors.md. */
export function describeErrors(): string {
  return formatPage('Errors', [
    intro,
    formatMarkdownTable(
      ['code', 'HTTP', 'A2A', 'SMTP'],
      [
        ...rejectionCodes.map(code => formatProtocolCodes(`[\`${code}\`](#${code})`, new Rejection(code, ''))),
        formatProtocolCodes('[`unavailable`](#unavailable)', new Unavailable('')),
        formatProtocolCodes('[`internal`](#internal)', new Error()),
      ],
    ),
    ...rejectionCodes.flatMap(code => describeCode(code, meanings[code])),
    ...describeCode('unavailable', 'A key host, DNS or the database does not answer. The peer tries again.'),
    ...describeCode('internal', 'The gateway or an agent has a fault.'),
    acceptedRequests,
    exceptions,
    '## Classes',
    'Code of the gateway throws these (`packages/message/src/format/errors.ts`).',
    formatMarkdownTable(
      ['class', 'meaning', 'who acts'],
      errorClasses.map(([name, ...otherCells]) => [
        name === 'any other error' ? name : formatInlineCode(name),
        ...otherCells,
      ]),
    ),
  ])
}

/** Lists the forms of an error in each protocol. */
function formatProtocolCodes(code: string, error: Error): readonly string[] {
  const { type } = toA2aError(error)
  const { code: reply, enhanced: enhancedCode } = toSmtpReply(error)
  return [
    code,
    String(toProblem(error).status),
    `${type.code} ${formatInlineCode(type.reason)}, HTTP ${type.http}`,
    `${reply} ${enhancedCode}`,
  ]
}

/** Describes a code with its causes, in the words of `postern why`. @throws Error for a code without documented causes */
function describeCode(code: string, meaning: string): readonly string[] {
  const causes = refusalCases.filter(({ codes }) => codes.includes(code))
  if (causes.length === 0)
    throw new Error(`Cannot describe ${code}: no case of packages/operator/src/why/rules/refused.ts has it`)
  const example = {
    code,
    at: '',
    reason: '',
    via: '',
    from: '',
    claimed_sender: '@name@domain',
    agent: '*',
  } as unknown as Refusal
  const lines = causes.map(cause => {
    const { text, command } = writeFix(cause, example)
    return `- \`${cause.code}\`: ${cause.why}. ${text}${command ? ` Run \`${command}\`.` : ''}`
  })
  return [`## \`${code}\``, meaning, lines.join('\n')]
}
