/** How far a decision on a call can count: for calls of this tool in the same conversation, or in all with this agent. */
export const rememberScopes = ['conversation', 'always'] as const
export type RememberScope = (typeof rememberScopes)[number]
