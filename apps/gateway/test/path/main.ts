// Measures the path of a message, and writes the lists of `docs/reference/path-files.md`: the files that run, and what each is for.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathChannels } from './channels.ts'
import { correctList, describeLists, readPurpose } from './lists.ts'
import { measurePaths } from './measure-paths.ts'
import { openRecordedGateway, repository } from './recorded-gateway.ts'

const file = join(repository, 'docs/reference/path-files.md')
const gateway = await openRecordedGateway()
const paths = await measurePaths(gateway).finally(() => gateway.close())
let text = readFileSync(file, 'utf8')
for (const { channel, title } of pathChannels) {
  const { corrected, changes } = correctList(text, { title, ran: paths.get(channel) ?? [], describe: describeFile })
  text = corrected
  for (const change of changes) process.stdout.write(`${title}: ${change}\n`)
}
writeFileSync(file, describeLists(text, describeFile))

function describeFile(path: string): string {
  return readPurpose(path, readFileSync(join(repository, path), 'utf8'))
}
