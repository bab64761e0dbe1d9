/**
 * The relations of a peer to an agent. `follower`: gets its posts. `pending`: asks to follow and waits for the
 * operator. `following`: the agent follows. `blocked_by`: blocks the agent, so nothing is delivered there, and its
 * messages are kept from the agent. `suppressed`: mail there bounces or gets complaints, so the channel sends nothing
 * more. `correspondent`: has written with proof, so that look-alikes can be recognized.
 */
export const relationKinds = ['follower', 'pending', 'following', 'blocked_by', 'suppressed', 'correspondent'] as const

export type RelationKind = (typeof relationKinds)[number]
