// Lists the scopes in which a decision on a call can count.

/** The later calls for which a decision can count: calls of the same tool in this conversation, or in all conversations with the agent. */
export const rememberScopes = ['conversation', 'always'] as const
export type RememberScope = (typeof rememberScopes)[number]
