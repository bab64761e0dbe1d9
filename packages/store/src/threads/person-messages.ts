// Selects the messages of one person as SQL.
import type { ChannelFacts } from '../channels/channel-facts.ts'

/**
 * Returns the condition that a message `m` is of one person. `subjects` is a JSON list of the person's principals. On some channels the address
 * is the principal, and a message that is answered in its call belongs to one principal.
 */
export function isOwnMessage(subjects: string, { sql }: ChannelFacts): string {
  const isAmong = `IN (SELECT value FROM json_each(${subjects}))`
  const address = sql.subjectExpression('m.channel', "json_extract(m.envelope, '$.sender.address')")
  return `CASE WHEN m.principal IS NOT NULL THEN m.principal ${isAmong} WHEN ${sql.callAnsweringCondition('m.channel')} THEN true
    ELSE coalesce(${address} ${isAmong}, false) END`
}

/** Tables of the entries in a thread, joined with the message that each is or answers. */
export const entriesWithMessage = `messages e JOIN messages m ON m.seq = coalesce(e.answers, e.seq) AND m.kind = 'message'
  AND m.thread_id = e.thread_id`

/** Returns the condition of a message that came from a chat into a conversation of another channel. */
export function isFromChat({ sql }: ChannelFacts, message = 'm'): string {
  const origin = `json_extract(${message}.envelope, '$.received_via')`
  return `NOT (${sql.chatCondition(`${message}.channel`)}) AND ${sql.chatCondition(origin)}`
}

/** Returns the condition of an entry `e` from another person's chat, message or answer. `speakers` is a JSON list of the reader's principals. */
export function isOthersChat(speakers: string, channels: ChannelFacts): string {
  return `EXISTS (SELECT 1 FROM messages m WHERE m.kind = 'message' AND m.seq = coalesce(e.answers, e.seq)
    AND m.principal NOT IN (SELECT value FROM json_each(${speakers})) AND ${isFromChat(channels)})`
}
