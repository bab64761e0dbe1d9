/** Answers with a different text than the agent before it. */
export const handle = () => 'Another word'
