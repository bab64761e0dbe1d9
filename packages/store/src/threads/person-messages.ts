// Formats the SQL conditions that select the messages of a person.
import type { ChannelFacts } from '../channels/channel-facts.ts'

/**
 * Returns the condition that a message `m` is from one person. `subjects` is a JSON list of the person's principals. On some channels the address is
 * the principal. On channels that answer in the call, each message belongs to its caller.
 */
export function ownMessageCondition(subjects: string, { sql }: ChannelFacts): string {
  const amongSubjects = `IN (SELECT value FROM json_each(${subjects}))`
  const address = sql.subjectExpression('m.channel', "json_extract(m.envelope, '$.sender.address')")
  return `CASE WHEN m.principal IS NOT NULL THEN m.principal ${amongSubjects} WHEN ${sql.callAnsweringCondition('m.channel')} THEN true
    ELSE coalesce(${address} ${amongSubjects}, false) END`
}

/** The entries of a thread, each joined with the message that it is or answers. */
export const entriesWithMessage = `messages e JOIN messages m ON m.seq = coalesce(e.answers, e.seq) AND m.kind = 'message'
  AND m.thread_id = e.thread_id`

/** Returns the condition that a message came from a chat into a conversation of another channel. */
export function fromChatCondition({ sql }: ChannelFacts, message = 'm'): string {
  const origin = `json_extract(${message}.envelope, '$.received_via')`
  return `NOT (${sql.chatCondition(`${message}.channel`)}) AND ${sql.chatCondition(origin)}`
}

/** Returns the condition that an entry `e` is a message from another person's chat, or the answer to it. `speakers` is a JSON list of the reader's principals. */
export function othersChatCondition(speakers: string, channels: ChannelFacts): string {
  return `EXISTS (SELECT 1 FROM messages m WHERE m.kind = 'message' AND m.seq = coalesce(e.answers, e.seq)
    AND m.principal NOT IN (SELECT value FROM json_each(${speakers})) AND ${fromChatCondition(channels)})`
}
