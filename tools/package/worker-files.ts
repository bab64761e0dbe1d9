import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Plugin } from 'rolldown'

/** How the source names the file of a thread: `new URL('./worker.ts', import.meta.url)`. */
const fileReference = /new URL\(\s*'(\.{1,2}\/[^']+\.(?:ts|mjs))'\s*,\s*import\.meta\.url\s*\)/g

/**
 * Bundles the program of each thread as a file of its own, and lets the source name that file. All files of the bundle lie in one
 * folder, so a name beside the file that uses it is right wherever the code ends up.
 */
export function bundleWorkerFiles(): Plugin {
  const names = new Map<string, string>()
  return {
    name: 'worker-files',
    transform(code, id) {
      if (!fileReference.test(code)) return null
      const replaced = code.replace(fileReference, (whole, path: string) => {
        const file = resolve(dirname(id), path)
        if (!existsSync(file)) throw new Error(`Cannot bundle ${id}: it names ${file}, which does not exist`)
        const name = names.get(file) ?? nameFile(file, names.size)
        if (!names.has(file)) this.emitFile({ type: 'chunk', id: file, fileName: name })
        names.set(file, name)
        return whole.replace(path, `./${name}`)
      })
      return { code: replaced }
    },
  }
}

function nameFile(file: string, index: number): string {
  return `thread-${index}-${basename(file).replace(/\.\w+$/, '')}.js`
}

/** Whether a file is the program of a thread, or all that such a program imports. */
export function isThread(id: string): boolean {
  return /(?:worker|thread)\.(?:ts|mjs)$/.test(id)
}
