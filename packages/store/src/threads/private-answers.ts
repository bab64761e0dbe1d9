// Selects private answers as SQL.
/** Returns the condition that a response is private in a thread `t` in which others read and write, too. */
export function isPrivateAnswer(response: string): string {
  return `t.scope = 'public' AND json_extract(${response}.envelope, '$.visibility') IN ('followers', 'direct')`
}
