/** What may be looked for in the words of a model. */
export const answerChecks = ['markup', 'json_call', 'braces'] as const

export type AnswerCheck = (typeof answerChecks)[number]

/** Without `braces`: code may have them. */
export const defaultAnswerChecks: readonly AnswerCheck[] = ['markup', 'json_call']
