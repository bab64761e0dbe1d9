import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** Where nothing may know a channel by name: what it has to know stands in the channel's descriptor or module. */
const neutral = /^(packages\/(core|store)|apps\/gateway)\/src\//

/**
 * The list itself; the engine's tables, whose columns earlier rows have filled; what reads the published forms of discovery, whose members are
 * named so; what a mail server on the same machine is asked.
 */
const mayName =
  /^apps\/gateway\/src\/(channels\.ts$|channel-settings\.ts$|resolve\/|doctor\/(mail\/|checks\/(agents|channels)\.ts)|checks\/mail-dns)|^packages\/store\/src\/schema\//

const names =
  /'(?:activitypub|a2a|email|web)'|'@postern\/(?:activitypub|a2a|email|web)(?:\/[^']*)?'|(?<!\bz|\bsimulation)\.(?:activitypub|a2a|email)\b/g

/** Names of channels in files that serve all of them alike. */
export function findProtocolNames(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => neutral.test(path) && !mayName.test(path) && !isTestFile(path))
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '')
      return [...new Set(code.match(names))].map(name => `${path} names ${name}`)
    })
}
