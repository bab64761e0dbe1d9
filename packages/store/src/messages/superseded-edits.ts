// Formats the SQL that tells superseded edits from the messages that still have content.

/**
 * Returns an expression that is 1 for a message that lost its content to a later edit, else 0. The index `messages_principal` contains it. The newest
 * edit of an object is never superseded, and neither is a message that nobody has edited.
 */
export function formatSuperseded(messageAlias = 'messages'): string {
  return `CASE WHEN ${messageAlias}.content = '[]' AND ${messageAlias}.edited_at IS NOT NULL THEN 1 ELSE 0 END`
}
