/** Who may read a post, from all to few. */
export const visibilities = ['public', 'unlisted', 'followers', 'direct'] as const

export type Visibility = (typeof visibilities)[number]
