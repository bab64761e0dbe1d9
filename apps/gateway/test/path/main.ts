/**
 * Measures the path of a message and corrects the lists of `docs/explanation/path-files.md`: takes out what does not run, and adds what is
 * missing beside the file's neighbours, in the words of its first comment. Prints what it changed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathChannels } from './channels.ts'
import { openCountedGateway, repository } from './counted-gateway.ts'
import { correctList } from './lists.ts'
import { measurePaths } from './measure.ts'

const file = join(repository, 'docs/explanation/path-files.md')
const gateway = await openCountedGateway()
const paths = await measurePaths(gateway).finally(() => gateway.close())
let text = readFileSync(file, 'utf8')
for (const { channel, title } of pathChannels) {
  const { corrected, changes } = correctList(text, { title, ran: paths.get(channel) ?? [], describe: describeFile })
  text = corrected
  for (const change of changes) process.stdout.write(`${title}: ${change}\n`)
}
writeFileSync(file, text)

/** The first sentence of its first comment. */
function describeFile(path: string): string {
  const source = readFileSync(join(repository, path), 'utf8')
  const [, comment = 'no comment says what it does'] = source.match(/\/\*\*\s*([\s\S]*?)\s*\*\//) ?? []
  const words = comment.replace(/\s*\n\s*\*\s*/g, ' ')
  return words.split(/[.:;](?:\s|$)/)[0] ?? words
}
