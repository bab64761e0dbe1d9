import { posix } from 'node:path'

const maxFiles = 15
/** Rows of a table in files of their own, what others wrote, and pages, which a README lists in groups. */
const isExempt = (folder: string) => /^docs\/|(^|\/)(schema|fixtures|rows)(\/|$)/.test(folder) || folder === '.'

/** Folders with more files than somebody takes in at a glance. */
export function findLargeFolders(paths: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const folder = posix.dirname(path)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([folder, count]) => count > maxFiles && !isExempt(folder))
    .sort(([, left], [, right]) => right - left)
    .map(([folder, count]) => `${folder} has ${count} files; at most ${maxFiles}`)
}
