// Lists how far an operator's decision on a call counts.

/** The later calls for which a decision on a call can count: those of this tool in the same conversation, or in all with this agent. */
export const rememberScopes = ['conversation', 'always'] as const
export type RememberScope = (typeof rememberScopes)[number]
