import { join } from 'node:path'
import type { CodeSplittingGroup, OutputChunk } from 'rolldown'

/** What loads a part of what a start loads, and shall load no more than that. The threads of the bundle do so too. */
const sources = {
  program: 'apps/gateway/src/main.ts',
  library: 'apps/gateway/src/index.ts',
  config: 'apps/gateway/src/config/read-config.ts',
  start: 'apps/gateway/src/running/run.ts',
}

/**
 * Joins what a start loads to few files: finding and linking one costs more than running it. Without groups there are a hundred, one for
 * each set of commands that share modules. `chunks`: of a build without groups, which know what is used.
 */
export function groupByStart(chunks: readonly OutputChunk[], root: string): CodeSplittingGroup[] {
  const loaders = new Map<string, string>()
  const note = (loader: string, ids: readonly string[]) => {
    for (const id of ids) loaders.set(id, [...(loaders.get(id)?.split(' ') ?? []), loader].join(' '))
  }
  for (const [name, source] of Object.entries(sources)) note(name, listModules(findChunk(source), chunks))
  const needed = new Set(loaders.keys())
  for (const chunk of chunks.filter(({ fileName }) => fileName.startsWith('thread-')))
    note(
      chunk.name,
      listModules(chunk, chunks, ({ imports, dynamicImports }) => [...imports, ...dynamicImports]),
    )
  const sets = new Set([...needed].map(id => loaders.get(id) ?? ''))
  return [...sets].map((set, index) => ({
    name: set.includes(' ') ? `shared-${index}` : set,
    test: id => needed.has(id) && loaders.get(id) === set,
  }))

  function findChunk(source: string): OutputChunk {
    const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(join(root, source)))
    if (!chunk) throw new Error(`Cannot bundle: no chunk holds ${source}`)
    return chunk
  }
}

/** Of a chunk and of all that it imports, by default before it runs. */
function listModules(
  first: OutputChunk,
  chunks: readonly OutputChunk[],
  listImports = ({ imports }: OutputChunk): readonly string[] => imports,
): readonly string[] {
  const reached = new Set([first])
  for (const chunk of reached) {
    const imports = listImports(chunk)
    for (const other of chunks) if (imports.includes(other.fileName)) reached.add(other)
  }
  return [...reached].flatMap(({ moduleIds }) => moduleIds)
}
