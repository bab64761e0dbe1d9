// Counts by key, without entries for counts of 0.

/** Changes the count of a key by one. It deletes a key whose count is 0. */
export function addToCount<Key>(counts: Map<Key, number>, key: Key, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
