// Lists the audiences of a post.

/** The audiences of a post, from the widest to the narrowest. */
export const visibilities = ['public', 'unlisted', 'followers', 'direct'] as const
export type Visibility = (typeof visibilities)[number]
