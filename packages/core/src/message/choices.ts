// Commands of the operator offer these words, and load nothing else of this package when they start.

/** Who may read a post, from all to few. */
export const visibilities = ['public', 'unlisted', 'followers', 'direct'] as const
export type Visibility = (typeof visibilities)[number]

/** How far a decision on a call can count: for calls of this tool in the same conversation, or in all with this agent. */
export const rememberScopes = ['conversation', 'always'] as const
export type RememberScope = (typeof rememberScopes)[number]
