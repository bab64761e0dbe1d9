import type { ChannelFacts } from '../channels/facts.ts'

/**
 * Whether a message `m` is somebody's own, as SQL; `subjects`: a JSON list of the principals of one person. Of some
 * channels the address is the principal, and what is answered in its call is of one principal alone.
 */
export function isOwnMessage(subjects: string, { sql }: ChannelFacts): string {
  const isAmong = `IN (SELECT value FROM json_each(${subjects}))`
  const address = sql.subjectOf('m.channel', "json_extract(m.envelope, '$.sender.address')")
  return `CASE WHEN m.principal IS NOT NULL THEN m.principal ${isAmong} WHEN ${sql.answersCalls('m.channel')} THEN true
    ELSE coalesce(${address} ${isAmong}, false) END`
}

/** Where the store keeps what was said in a thread: with the message that it is or answers. */
export const saidInThread = `messages e JOIN messages m ON m.seq = coalesce(e.answers, e.seq) AND m.kind = 'message'
  AND m.thread_id = e.thread_id`

/** Of `message`, set apart from its channel: what came from a chat into a conversation of another channel, as SQL. */
export function isFromChat({ sql }: ChannelFacts, message = 'm'): string {
  const origin = `json_extract(${message}.envelope, '$.received_via')`
  return `NOT (${sql.isChat(`${message}.channel`)}) AND ${sql.isChat(origin)}`
}

/** Of an entry `e`: what somebody else than who asks (`speakers`: a JSON list of principals) said in a chat, and what was answered to it there. */
export function isOthersChat(speakers: string, channels: ChannelFacts): string {
  return `EXISTS (SELECT 1 FROM messages m WHERE m.kind = 'message' AND m.seq = coalesce(e.answers, e.seq)
    AND m.principal NOT IN (SELECT value FROM json_each(${speakers})) AND ${isFromChat(channels)})`
}
