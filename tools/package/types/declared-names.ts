// Finds the file that declares an exported name, through re-exports.
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** A name in the file that declares it. */
interface DeclaredName {
  /** The path of the declaration file from the root. */
  readonly file: string
  readonly name: string
}

/** Finds the file that declares a name of an index file's exports. */
export type FindDeclaration = (index: string, name: string) => DeclaredName

const reExport = /export\s+(?:type\s+)?\{([^}]*)\}\s+from\s+['"](\.[^'"]+)['"]/g

/**
 * Follows the re-exports of index files, so that a declaration imports only the files whose names it uses. `folder` contains the
 * declarations.
 */
export function createFindDeclaration(folder: string): FindDeclaration {
  const indexes = new Map<string, ReadonlyMap<string, DeclaredName>>()
  const findDeclaration: FindDeclaration = (index, name) => {
    const names = indexes.get(index) ?? readIndex(folder, index)
    indexes.set(index, names)
    const declaredName = names.get(name)
    return declaredName ? findDeclaration(declaredName.file, declaredName.name) : { file: index, name }
  }
  return findDeclaration
}

function readIndex(folder: string, index: string): ReadonlyMap<string, DeclaredName> {
  const text = readFileSync(join(folder, index), 'utf8')
  const entries = [...text.matchAll(reExport)].flatMap(([, list = '', path = '']) => {
    const file = toDeclaration(join(dirname(index), path))
    return splitNames(list).map(({ name, as }) => [as, { file, name }] as const)
  })
  return new Map(entries)
}

interface ExportedName {
  readonly name: string
  readonly as: string
}

/** Splits the list in braces, such as `type A, B as C`. */
export function splitNames(list: string): readonly ExportedName[] {
  return list
    .split(',')
    .map(specifier => specifier.trim().replace(/^type\s+/, ''))
    .filter(Boolean)
    .map(specifier => {
      const [name = '', as = name] = specifier.split(/\s+as\s+/)
      return { name, as }
    })
}

export function toDeclaration(source: string): string {
  return source.replace(/(?<!\.d)\.ts$/, '.d.ts')
}

/** Returns the specifier of an import in a declaration: the JavaScript file that the target describes. */
export function toSpecifier(from: string, target: string): string {
  const path = relative(dirname(from), target).replace(/\.d\.ts$/, '.js')
  return path.startsWith('.') ? path : `./${path}`
}
