/** Answers differently from `plain.ts`, like the same agent after an edit. */
export const handle = () => 'In other words'
