import type { Plugin, PluginContext } from 'rolldown'

interface StartChunk {
  readonly plugin: Plugin
  /** Whether a module belongs to the file. Known once all modules are read. */
  includes(id: string): boolean
}

/** Patterns of paths. */
interface StartChunkOptions {
  /** What a start loads. */
  readonly roots: RegExp
  /** What is loaded without a gateway, and must not bring it along. */
  readonly light: RegExp
}

/**
 * Puts what only a start loads into one file: Node finds, reads and links each file by itself, and a start would take 60. Programs of
 * threads, commands and the library's own entry import other files, as before.
 */
export function gatherStart({ roots, light }: StartChunkOptions): StartChunk {
  let included: ReadonlySet<string> = new Set()
  const plugin: Plugin = {
    name: 'start-chunk',
    buildEnd() {
      const ids = [...this.getModuleIds()]
      const elsewhere = listImports(
        this,
        ids.filter(id => light.test(id)),
      )
      const started = listImports(
        this,
        ids.filter(id => roots.test(id)),
      )
      included = new Set([...started].filter(id => !elsewhere.has(id)))
    },
  }
  return { plugin, includes: id => included.has(id) }
}

/** The modules and all that they import before they run. */
function listImports(context: PluginContext, roots: readonly string[]): ReadonlySet<string> {
  const seen = new Set(roots)
  for (const id of seen) for (const imported of context.getModuleInfo(id)?.importedIds ?? []) seen.add(imported)
  return seen
}
