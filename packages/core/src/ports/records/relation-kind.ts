/**
 * How somebody outside stands to an agent of ours. `pending`: asks to follow and waits for the operator. `following`: the
 * agent follows. `blocked_by`: wants nothing of the agent; nothing is delivered there, and what comes from there is kept.
 * `suppressed`: what is sent there does not arrive, or is complained of; the channel sends nothing more. `correspondent`: has
 * written to the agent and was proven, so that others who look like him can be told apart.
 */
export const relationKinds = ['follower', 'pending', 'following', 'blocked_by', 'suppressed', 'correspondent'] as const

export type RelationKind = (typeof relationKinds)[number]
