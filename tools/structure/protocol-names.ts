// Finds channel names in code that must serve all channels alike.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** Pattern of files that must not know a channel by name: the channel's descriptor or module tells them all they need. */
const neutral = /^(packages\/(message|pipeline|store|operator)|apps\/gateway)\/src\//

/**
 * The list itself; the engine's tables, whose columns earlier rows have filled; what reads the published forms of discovery, whose members are
 * named so; what a mail server on the same machine is asked.
 */
const mayName =
  /^apps\/gateway\/src\/(channels\.ts$|channel-settings\.ts$|compose\/card-reader\.ts$)|^packages\/operator\/src\/(resolve\/|doctor\/(config\.ts$|mail\/|checks\/(agents|channels)\.ts)|checks\/mail-dns)|^packages\/store\/src\/schema\//

const names =
  /'(?:activitypub|a2a|email|web)'|'@postern\/(?:activitypub|a2a|email|web)(?:\/[^']*)?'|(?<!\bz|\bsimulation)\.(?:activitypub|a2a|email)\b/g

/** Finds names of channels in files that serve all of them alike. */
export function findProtocolNames(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => neutral.test(path) && !mayName.test(path) && !isTestFile(path))
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '')
      return [...new Set(code.match(names))].map(name => `${path} names ${name}`)
    })
}

const valueOfChannel = /^import (?!type )[^\n]*'(@postern\/(?:activitypub|a2a|email|web)(?:\/[^']*)?)'/gm

/** Finds imports of channels by the operator's side that are not types alone. */
export function findChannelValues(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => path.startsWith('packages/operator/src/') && !isTestFile(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(valueOfChannel)].map(([, name]) => `${path} imports more of ${name}`),
    )
}
