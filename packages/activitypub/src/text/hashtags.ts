// Compares hashtags, and limits those of one post.

/** The most tags of one post. Further ones stay text. */
export const maxTags = 30

/** Returns the key of a tag, which is the same regardless of the case and width of its letters. */
export function toTagKey(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}
