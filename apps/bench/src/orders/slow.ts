// Defines how long the slow agent of the bench takes for an answer.

/** The time that a slow agent takes, ms: about the cost of a local look-up, and longer than a commit gathers writes. */
export const slowAgentDelayMs = 20
