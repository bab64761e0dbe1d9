/**
 * Whether a message `m` is somebody's own, as SQL; `subjects`: a JSON list of his principals. Of a mailbox the address is the principal, and
 * conversations of the web and of A2A are of one principal alone.
 */
export function isOwnMessage(subjects: string): string {
  const isAmong = `IN (SELECT value FROM json_each(${subjects}))`
  const mailbox = `'mailto:' || substr(lower(json_extract(m.envelope, '$.sender.address')), 2)`
  return `CASE WHEN m.author IS NOT NULL THEN m.author ${isAmong} WHEN m.via = 'email' THEN ${mailbox} ${isAmong}
    ELSE m.via IN ('web', 'a2a') END`
}

/** Where the store keeps what was said in a thread: with the message that it is or answers. */
export const saidInThread = `entries e JOIN messages m ON m.number = coalesce(e.answers, e.seq) AND m.thread_id = e.thread_id`

/** Set apart from its channel: what came from a chat into a conversation of another channel. */
export const isFromChat = `m.via <> 'web' AND json_extract(m.envelope, '$.received_via') = 'web'`

/** Of an entry: what somebody else than who asks (`speakers`: a JSON list of principals) said in a chat, and what was answered to it there. */
export function isOthersChat(speakers: string): string {
  return `EXISTS (SELECT 1 FROM messages m WHERE m.number = coalesce(entries.answers, entries.seq) AND substr(m.author, 1, 4) = 'web:'
    AND m.author NOT IN (SELECT value FROM json_each(${speakers})) AND ${isFromChat})`
}
