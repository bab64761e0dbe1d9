// Finds large folders, import cycles and imports against the order of folders.
import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

const maxFiles = 15
/** Returns true for folders without a limit: tables with a file for each row, fixtures, and pages, which a README lists in groups. */
const isExempt = (folder: string) => /^docs\/|(^|\/)(schema|fixtures|rows)(\/|$)/.test(folder) || folder === '.'

/** Finds folders with more files than a reader can survey at a glance. */
export function findLargeFolders(paths: readonly string[]): readonly string[] {
  return [...Map.groupBy(paths, path => posix.dirname(path))]
    .filter(([folder, { length }]) => length > maxFiles && !isExempt(folder))
    .sort(([, left], [, right]) => right.length - left.length)
    .map(([folder, { length }]) => `${folder} has ${length} files; at most ${maxFiles}`)
}

type Graph = ReadonlyMap<string, readonly string[]>

/** Finds groups of files that import each other in a circle, even by types. Sorts each group, and lists the largest first. */
export function findCycles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const graph = peel(readGraph(files))
  const reachable = new Map([...graph.keys()].map(path => [path, reach(path, graph)]))
  const groups = new Map<string, readonly string[]>()
  for (const [path, targets] of reachable) {
    if (!targets.has(path)) continue
    const group = [...targets].filter(target => reachable.get(target)?.has(path)).sort()
    groups.set(group.join(), group)
  }
  return [...groups.values()].sort((left, right) => right.length - left.length)
}

function readGraph(files: readonly SourceFile[]): Graph {
  const filePaths = new Set(files.map(({ path }) => path))
  const targetsOf = ({ imports }: SourceFile) => imports.flatMap(({ target }) => target ?? [])
  return new Map(files.map(file => [file.path, targetsOf(file).filter(target => filePaths.has(target))]))
}

/** Removes the files that import none of the remaining ones. They are in no circle, and few files remain. */
function peel(graph: Graph): Graph {
  const cyclic = new Map([...graph].filter(([, targets]) => targets.some(target => graph.has(target))))
  return cyclic.size === graph.size ? cyclic : peel(cyclic)
}

/** Lists every file that a file imports, directly or through others. The file itself is among them only if it is in a circle. */
function reach(startPath: string, graph: Graph): ReadonlySet<string> {
  const visited = new Set<string>()
  const waiting = [startPath]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const target of graph.get(path) ?? []) {
      if (visited.has(target) || !graph.has(target)) continue
      visited.add(target)
      waiting.push(target)
    }
  }
  return visited
}

/** The folders of a package's `src`, lowest first, by the package's path. A file may import from its own folder and lower ones. */
type Layers = Readonly<Record<string, readonly string[]>>

/**
 * Finds imports of higher folders, and folders that the order lacks. Files directly in `src` rank above all folders unless the order names
 * them. Tests may import anything.
 */
export function findLayerFaults(files: readonly SourceFile[], layers: Layers): readonly string[] {
  return files.filter(({ path }) => !isTestFile(path)).flatMap(file => faultsOf(file, layers))
}

function faultsOf({ path, imports }: SourceFile, layers: Layers): readonly string[] {
  const sourceLayer = findLayer(path, layers)
  if (!sourceLayer) return []
  if (sourceLayer.rank < 0) return [`${path}: its folder is not in the order of ${sourceLayer.name}`]
  return imports.flatMap(({ target }) => {
    const targetLayer = target === undefined ? undefined : findLayer(target, layers)
    const isUp = targetLayer?.name === sourceLayer.name && targetLayer.rank > sourceLayer.rank
    return isUp ? [`${path} imports ${target}, which is higher in the order of ${sourceLayer.name}`] : []
  })
}

interface Layer {
  /** The path of the package. */
  readonly name: string
  /** The position in the order, or -1 for a folder that is not in it. */
  readonly rank: number
}

function findLayer(path: string, layers: Layers): Layer | undefined {
  const name = Object.keys(layers).find(packageName => path.startsWith(`${packageName}/src/`))
  if (name === undefined) return undefined
  const [file = '', ...inner] = path.slice(`${name}/src/`.length).split('/').reverse()
  const folders = inner.reverse()
  const layerOrder = layers[name] ?? []
  if (folders.length === 0)
    return { name, rank: layerOrder.includes(file) ? layerOrder.indexOf(file) : layerOrder.length }
  const prefixes = folders.map((_, index) => folders.slice(0, folders.length - index).join('/'))
  const layer = prefixes.find(folder => layerOrder.includes(folder))
  return { name, rank: layer === undefined ? -1 : layerOrder.indexOf(layer) }
}
