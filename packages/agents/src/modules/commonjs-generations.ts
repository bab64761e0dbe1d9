// Keeps the CommonJS files of each generation apart, which the runtime caches by their paths alone.
import { createRequire } from 'node:module'

const { cache } = createRequire(import.meta.url)

/** The generation whose files are in the runtime's cache. */
let cachedGeneration = 0
/** The files of the other generations, by their paths. */
const filesByGeneration = new Map<number, ReadonlyMap<string, NodeJS.Module>>()

/** Puts the files of a generation into the runtime's cache. `ownPaths` are the operator's files; those that they require belong to them. */
export function enterCommonJsGeneration(generation: number, ownPaths: Iterable<string>): void {
  if (generation === cachedGeneration) return
  const ownFiles = findOwnFiles(ownPaths)
  filesByGeneration.set(cachedGeneration, ownFiles)
  for (const path of ownFiles.keys()) delete cache[path]
  for (const [path, file] of filesByGeneration.get(generation) ?? []) cache[path] = file
  filesByGeneration.delete(generation)
  cachedGeneration = generation
}

function findOwnFiles(paths: Iterable<string>): ReadonlyMap<string, NodeJS.Module> {
  const files = new Map<string, NodeJS.Module>()
  const pendingFiles = [...paths].flatMap(path => cache[path] ?? [])
  for (const file of pendingFiles) {
    if (files.has(file.filename) || file.filename.includes('/node_modules/')) continue
    files.set(file.filename, file)
    pendingFiles.push(...file.children)
  }
  return files
}
