// Formats the SQL condition that selects private answers.
/** Returns the condition that a response is private although its thread `t` is public. */
export function privateAnswerCondition(responseAlias: string): string {
  return `t.scope = 'public' AND json_extract(${responseAlias}.envelope, '$.visibility') IN ('followers', 'direct')`
}
