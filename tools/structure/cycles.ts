import type { SourceFile } from './source-files.ts'

type Graph = ReadonlyMap<string, readonly string[]>

/** Groups of files that import each other in a circle, types included; each group sorted, the largest first. */
export function findCycles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const graph = peel(readGraph(files))
  const reached = new Map([...graph.keys()].map(path => [path, reach(path, graph)]))
  const groups = new Map<string, readonly string[]>()
  for (const [path, targets] of reached) {
    if (!targets.has(path)) continue
    const group = [...targets].filter(target => reached.get(target)?.has(path)).sort()
    groups.set(group.join(), group)
  }
  return [...groups.values()].sort((left, right) => right.length - left.length)
}

function readGraph(files: readonly SourceFile[]): Graph {
  const known = new Set(files.map(({ path }) => path))
  const targetsOf = ({ imports }: SourceFile) => imports.flatMap(({ target }) => target ?? [])
  return new Map(files.map(file => [file.path, targetsOf(file).filter(target => known.has(target))]))
}

/** Without the files that import nothing which is left: they are in no circle, and few files stay. */
function peel(graph: Graph): Graph {
  const left = new Map([...graph].filter(([, targets]) => targets.some(target => graph.has(target))))
  return left.size === graph.size ? left : peel(left)
}

/** Every file that one file leads to, itself only by a circle. */
function reach(start: string, graph: Graph): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [start]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const target of graph.get(path) ?? []) {
      if (reached.has(target) || !graph.has(target)) continue
      reached.add(target)
      waiting.push(target)
    }
  }
  return reached
}
