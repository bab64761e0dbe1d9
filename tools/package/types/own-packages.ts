import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toDeclaration } from './declared-names.ts'

interface PackageManifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string>>
}

interface OwnEntry {
  readonly source: string
  readonly declaration: string
}

/** The entries of our packages by what the source imports: `@postern/core` is `packages/core/src/index.ts`. */
export function readOwnEntries(root: string): ReadonlyMap<string, OwnEntry> {
  const entries = globSync('packages/*/package.json', { cwd: root }).flatMap(path => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as PackageManifest
    return Object.entries(exports).map(([entry, file]) => {
      const source = join(dirname(path), file)
      return [join(name, entry), { source, declaration: toDeclaration(source) }] as const
    })
  })
  return new Map(entries)
}
