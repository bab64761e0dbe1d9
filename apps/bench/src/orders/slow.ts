// Defines how long the slow agent of the bench takes for an answer.

/** The time that a slow agent takes, ms: about as long as a local lookup, and longer than a commit waits for further writes. */
export const slowAgentDelayMs = 20
