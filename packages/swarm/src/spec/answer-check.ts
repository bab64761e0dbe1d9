/** What to search for in a model's text. */
export const answerChecks = ['markup', 'json_call', 'braces'] as const

export type AnswerCheck = (typeof answerChecks)[number]

/** Without `braces`, because code may contain them. */
export const defaultAnswerChecks: readonly AnswerCheck[] = ['markup', 'json_call']
