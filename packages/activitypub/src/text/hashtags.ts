// Compares hashtags, and limits those of one post.

/** The maximum number of tags of one post. Further tags stay text. */
export const maxTags = 30

/** Returns the key of a tag, which is the same regardless of the case and width of its letters. */
export function toTagKey(tag: string): string {
  return tag.normalize('NFKC').toLowerCase()
}
