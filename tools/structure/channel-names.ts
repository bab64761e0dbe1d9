// Finds channel names in code that must treat all channels alike.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** Matches files that must not know a channel by name, because a channel's descriptor or module contains all they need. */
const neutralFilePattern = /^(packages\/(message|pipeline|store|operator)|apps\/gateway)\/src\//

/**
 * Matches files that may name channels: the list of channels, the kinds of parts, the store's schema, readers of discovery documents whose members have the names of channels, and
 * checks that ask a mail server on this machine. The schema keeps its names, because earlier versions have filled those columns.
 */
const exemptFilePattern =
  /^apps\/gateway\/src\/(channels\.ts$|channel-settings\.ts$|compose\/card-reader\.ts$)|^packages\/message\/src\/message\/part\.ts$|^packages\/operator\/src\/(resolve\/|doctor\/(config\.ts$|mail\/|checks\/(agents|channels)\.ts)|checks\/mail-dns)|^packages\/store\/src\/schema\//

const channelNamePattern =
  /'(?:activitypub|a2a|email|web|platforms|slack)'|'@postern\/(?:activitypub|a2a|email|web|platforms)(?:\/[^']*)?'|(?<!\bz|\bsimulation)\.(?:activitypub|a2a|email|platforms|slack)\b/g

/** Finds names of channels in files that treat all channels alike. */
export function findProtocolNames(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => neutralFilePattern.test(path) && !exemptFilePattern.test(path) && !isTestFile(path))
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '')
      return [...new Set(code.match(channelNamePattern))].map(name => `${path} names ${name}`)
    })
}

const channelImportPattern =
  /^import (?!type )[^\n]*'(@postern\/(?:activitypub|a2a|email|web|platforms)(?:\/[^']*)?)'/gm

/** Finds imports of channels in `packages/operator` that are more than types. */
export function findChannelValues(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => path.startsWith('packages/operator/src/') && !isTestFile(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(channelImportPattern)].map(([, name]) => `${path} imports more of ${name}`),
    )
}
