// Finds names of source files in the READMEs of packages that match no file any more.
import { posix } from 'node:path'

/** A file with its path from the root of the repository, and its text. */
interface NamedText {
  readonly path: string
  readonly text: string
}

const readmePattern = /^(?:apps|packages)\/[^/]+\/README\.md$/
const namePattern = /`(\w[\w./-]*\.(?:ts|mjs))`/g

/** Finds names such as `src/sql/sql.ts` or `sql.ts` that neither end a path in the README's own folder nor are a path from the root. */
export function findStaleFileNames(readmes: readonly NamedText[], paths: readonly string[]): readonly string[] {
  return readmes
    .filter(({ path }) => readmePattern.test(path))
    .flatMap(({ path, text }) => {
      const folderFiles = paths.filter(file => file.startsWith(`${posix.dirname(path)}/`))
      const names = new Set([...text.matchAll(namePattern)].map(([, name = '']) => name))
      return [...names]
        .filter(name => !paths.includes(name) && !folderFiles.some(file => file.endsWith(`/${name}`)))
        .map(name => `${path} names ${name}, which is not there`)
    })
}
