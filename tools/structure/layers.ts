import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** The folders of a package's `src`, lowest first, by the package's path. A file imports from its own folder and lower ones. */
type Layers = Readonly<Record<string, readonly string[]>>

/** Imports that go up, and folders that have no place in the order. Loose files of `src` are above all folders, but for those that the order names; tests may import anything. */
export function findLayerFaults(files: readonly SourceFile[], layers: Layers): readonly string[] {
  return files.filter(({ path }) => !isTestFile(path)).flatMap(file => faultsOf(file, layers))
}

function faultsOf({ path, imports }: SourceFile, layers: Layers): readonly string[] {
  const own = findLayer(path, layers)
  if (!own) return []
  if (own.rank < 0) return [`${path}: its folder is not in the order of ${own.name}`]
  return imports.flatMap(({ target }) => {
    const other = target === undefined ? undefined : findLayer(target, layers)
    const isUp = other?.name === own.name && other.rank > own.rank
    return isUp ? [`${path} imports ${target}, which is higher in the order of ${own.name}`] : []
  })
}

interface Layer {
  /** The package's path. */
  readonly name: string
  /** Position in the order; -1 for a folder that is not in it. */
  readonly rank: number
}

function findLayer(path: string, layers: Layers): Layer | undefined {
  const name = Object.keys(layers).find(each => path.startsWith(`${each}/src/`))
  if (name === undefined) return undefined
  const [file = '', ...inner] = path.slice(`${name}/src/`.length).split('/').reverse()
  const folders = inner.reverse()
  const order = layers[name] ?? []
  if (folders.length === 0) return { name, rank: order.includes(file) ? order.indexOf(file) : order.length }
  const named = folders.map((_, index) => folders.slice(0, folders.length - index).join('/'))
  const found = named.find(folder => order.includes(folder))
  return { name, rank: found === undefined ? -1 : order.indexOf(found) }
}
