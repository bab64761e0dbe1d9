import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that are not what the code gives, a sentence each with the first line that differs. */
export function findDifferences(root: string, texts: ReadonlyMap<string, string>): readonly string[] {
  return [...texts].flatMap(([path, text]) => {
    if (!existsSync(join(root, path))) return [`${path} is not there`]
    const written = readFileSync(join(root, path), 'utf8')
    if (written === text) return []
    const [lines, current] = [written.split('\n'), text.split('\n')]
    const at = current.findIndex((line, index) => line !== lines[index])
    const line = at === -1 ? current.length : at
    return [`${path}:${line + 1} has "${lines[line] ?? ''}", and the code gives "${current[line] ?? ''}"`]
  })
}
