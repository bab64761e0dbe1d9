import type { RejectionCode } from '@postern/core'
import { Rejection, rejectionCodes, Unavailable } from '@postern/core'
import { toProblem } from '@postern/http'
import { toFault } from '../../packages/a2a/src/format/errors.ts'
import { toSmtpReply } from '../../packages/email/src/smtp/replies.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from './markdown.ts'

const intro = `
What the gateway answers when it does not take a request, and who has to act. HTTP answers are problem details (RFC 9457) with the members \`title\`, \`status\`, \`detail\`,
\`code\` and, where single members of the request are wrong, \`violations\`. No answer says more about a fault of the gateway than that there is one; the log has all of it.

The channels log each refusal and list it under \`/operator/api/refusals\`: time, source, code and reason, never the content.
`

const accepted = `
## Requests that are taken

| | ActivityPub | A2A | mail |
| --- | --- | --- | --- |
| accepted | 202 | the task or the message | 200, 250 |
| a duplicate | as accepted | the same task | as accepted |
| well formed, and nothing to do | 202 | – | 200, 250 |

Peers are answered after the message is durable. A duplicate gets the first answer again, and no agent sees it.
`

const exceptions = `
## Exceptions

- Mail without an aligned proof is taken as unverified. If the author's domain publishes \`p=reject\`, it is refused with \`forbidden\` (\`email.trust.dmarc_reject\`); under \`p=quarantine\` it is kept from the agents.
- On JSON-RPC an error of the protocol has the HTTP status 200. An error of the transport keeps its status: 401, 403, 404, 405, 413, 415, 429, 500 or 503.
- \`rate_limited\` and \`unavailable\` carry \`Retry-After\`, over A2A also \`google.rpc.RetryInfo\`. SMTP names the seconds of \`rate_limited\` in its text.
- A proof that counts once (a \`jti\`) is \`replayed\` at its second use. A message that comes twice is a duplicate, and no error.
- Of A2A the table has the error of a code alone; an operation has more precise ones, such as \`TASK_NOT_FOUND\`: [A2A](../explanation/a2a/calling.md).
`

/** What each code means; a code without a sentence does not compile. */
const meanings: Readonly<Record<RejectionCode, string>> = {
  malformed: 'The request is not well formed, or says what it may not.',
  too_large: 'The request, or a part of it, is larger than the gateway takes.',
  unsupported: 'The gateway does not know or not offer this media type or operation.',
  unsigned: 'There is no proof of who sends.',
  signature_invalid: 'The signature does not fit, or its key is not there.',
  signer_mismatch: 'The proof is of somebody else than the sender that the request names.',
  expired: 'The proof is too old, or of the future.',
  replayed: 'The proof counts once, and has been used.',
  forbidden: 'The sender is known and may not do this.',
  no_recipient: 'There is no such agent, document or task here.',
  rate_limited: 'The sender, their host or the agent has reached a limit.',
}

const classes: readonly (readonly [name: string, meaning: string, actor: string])[] = [
  ['Rejection', 'The peer sent what the gateway does not take.', 'the peer'],
  [
    'Unavailable',
    'Something that the gateway depends on did not answer; it may say when to come again.',
    'time: the peer or the gateway tries again',
  ],
  [
    'Undeliverable',
    'The far side refused an answer for good.',
    'the operator: a dead letter, see `postern deliveries`',
  ],
  [
    'ConfigError',
    'The configuration is wrong; the message has the key, the cause and the fix.',
    'the operator, at the start',
  ],
  [
    'TurnAborted',
    'The turn is not wanted any more: canceled, deleted, interrupted, edited, or the process ends.',
    'nobody: an agent stops when its signal aborts',
  ],
  ['LeaseLost', 'Another worker has taken the work over; the result is thrown away.', 'nobody'],
  ['any other error', 'A fault of the gateway or of an agent.', 'whoever maintains it, by the log'],
]

/** docs/reference/errors.md */
export function describeErrors(): string {
  const rows = rejectionCodes.map(code => describe(code, new Rejection(code, ''), meanings[code], 'the peer'))
  return formatPage('Errors reference', [
    intro,
    '## Codes',
    formatMarkdownTable(
      ['code', 'meaning', 'who acts', 'HTTP', 'A2A', 'SMTP'],
      [
        ...rows,
        describe(
          'unavailable',
          new Unavailable(''),
          'A key host, DNS or the database does not answer.',
          'time: the peer tries again',
        ),
        describe('', new Error(), 'A fault of the gateway.', 'the operator, by the log'),
      ],
    ),
    exceptions,
    accepted,
    '## Classes',
    'Code of the gateway throws these (`packages/core/src/format/errors.ts`).',
    formatMarkdownTable(
      ['class', 'meaning', 'who acts'],
      classes.map(([name, ...rest]) => [name === 'any other error' ? name : formatInlineCode(name), ...rest]),
    ),
  ])
}

/** What each wire makes of an error. */
function describe(code: string, error: Error, meaning: string, actor: string): readonly string[] {
  const { row } = toFault(error)
  const { code: reply, enhanced } = toSmtpReply(error)
  return [
    code === '' ? '–' : formatInlineCode(code),
    meaning,
    actor,
    String(toProblem(error).status),
    `${row.code} ${formatInlineCode(row.reason)}, HTTP ${row.http}`,
    `${reply} ${enhanced}`,
  ]
}
