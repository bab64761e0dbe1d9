// Compares docs/reference with the code, and writes it.
/**
 * `npm run reference`: lists the differences between docs/reference and the code, and then exits with 1. With `-- --write` it writes the
 * files.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeReference, findDifferences } from './documents.ts'

const root = join(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const texts = await describeReference(root)
if (values.write) {
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}
const differences = findDifferences(root, texts)
for (const difference of differences) console.log(difference)
console.log(
  differences.length === 0 ? `${texts.size} files say what the code does.` : 'Run npm run reference -- --write.',
)
process.exitCode = differences.length === 0 ? 0 : 1
