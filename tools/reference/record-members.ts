import type { DeliveryRecord, MessageRecord } from '@postern/core'
import { formatInlineCode, formatMarkdownTable } from './markdown.ts'

/** What the operator is told of one message; a member without a phrase does not compile. */
const messageMembers: Readonly<Record<keyof MessageRecord, string>> = {
  number: 'the gateway’s number of it',
  thread: 'number of its conversation',
  message: '[NormalizedMessage](message.md#normalizedmessage)',
  proofs: 'each check of the transport’s proof: `kind`, `verdict`, `reason?`, `key_id?` and details',
  state: '`received`, `working`, `answered`, `failed` or `ignored`',
  flags: 'why no agent got it, or what is odd about it',
  error: 'why it failed',
  response: '[NormalizedResponse](response.md), or `null`',
  deliveries: 'each delivery, as below',
  duplicates: 'how often the peer sent it again',
  correlation_id: 'the word that its lines in the log share',
  merged_into: 'number of the later message whose answer is for both',
  namesakes: 'numbers of further messages with the same id',
  trace:
    'its intake: `received_at`, `admitted_at` and `steps`, each with `kind`, `verdict`, `key_id?`, `key_from?`, `key_digest?`, `after`, `ms`',
  turn: '`attempts`, `due_at?`, `is_leased` and `ended_at?`; each attempt with its times, input, tools, tokens, error',
}

const deliveryMembers: Readonly<Record<keyof DeliveryRecord, string>> = {
  id: 'id of the delivery',
  via: 'channel',
  to: 'where it goes',
  state: '`queued`, `sent`, `later`, `dead` or `dismissed`',
  attempts: 'how many attempts it had',
  last_error: 'why the last attempt failed',
  next_attempt_at: 'time of the next attempt, ISO 8601',
  queued_at: 'since when it waits, ISO 8601',
  ended_at: 'when it was over, ISO 8601',
  attempt_log: 'each attempt: `attempt`, `at`, `ms`, `outcome`, `status?`, `reply_line?`, `error?`, `next_at?`',
  message_id: 'id of the message that it answers',
  wire: 'what the gateway sends, without signatures and secrets',
}

/** The answer of `GET /operator/api/messages/{id}`. */
export function describeRecord(): readonly string[] {
  return [
    '### Record of a message',
    '`GET /operator/api/messages/{id}` answers an object with these members.',
    formatMembers(messageMembers),
    'Each of `deliveries`:',
    formatMembers(deliveryMembers),
  ]
}

function formatMembers(members: Readonly<Record<string, string>>): string {
  const rows = Object.entries(members).map(([name, what]) => [formatInlineCode(name), what])
  return formatMarkdownTable(['member', 'what'], rows)
}
