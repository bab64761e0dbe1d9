import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

// The test uses a process of its own, because the test runner loads modules in its own way, and caches them.

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'postern-fresh-'))
const kit = new URL('../../src/testing/index.ts', import.meta.url)

const sdk = import.meta.resolve('@postern/sdk')

const agent = `import { Unavailable } from ${JSON.stringify(sdk)}
import { next } from './counter.ts'
import old from './old.cjs'

let failures = 0

export default {
  async handle({ parts }, { state }) {
    if (parts[0].content === 'old') return \`\${old.next()} \${old.shelf.next()}\`
    if (parts[0].content === 'fail' && failures++ === 0) throw new Unavailable('not yet', { retryAfter: 0.1 })
    const turns = ((await state.get()) ?? 0) + 1
    state.set(turns)
    return \`turn \${turns} of the conversation, \${next()} of the module\`
  },
}
`

const program = `import { startGateway } from ${JSON.stringify(kit)}

const options = { settings: { agents: { desk: { use: './desk.ts' } } }, log: 'silent' }
const first = await startGateway(options)
const { text, thread } = await first.chat({ text: 'hello' })
const mail = await first.send({ via: 'email', to: 'desk', text: 'hello' })
const second = await startGateway(options)
const other = await second.chat({ text: 'hello' })
const old = []
for (const gateway of [first, second, first]) old.push((await gateway.chat({ text: 'old' })).text)
const failed = await second.chat({ text: 'fail' })
await second.stop()
const { url, token } = first
await first.restart()
const later = await first.chat({ text: 'hello', thread })
const reply = await first.send({ via: 'email', to: 'desk', text: 'again', thread: mail.thread })
const isSame = first.url === url && first.token === token
await first.stop()
console.log(JSON.stringify({ said: [text, mail.reply.text, other.text, later.text, reply.reply.text], old, failed: failed.text, isSame }))
`

beforeAll(() => {
  writeFileSync(join(folder, 'counter.ts'), 'let count = 0\nexport const next = () => ++count\n')
  writeFileSync(join(folder, 'shelf.cjs'), 'let count = 0\nexports.next = () => ++count\n')
  const old = "let count = 0\nexports.next = () => ++count\nexports.shelf = require('./shelf.cjs')\n"
  writeFileSync(join(folder, 'old.cjs'), old)
  writeFileSync(join(folder, 'desk.ts'), agent)
  writeFileSync(join(folder, 'program.mjs'), program)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('each gateway of a process loads its agents and their imports anew, and a restart keeps its state', async () => {
  const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual({
    said: [
      'turn 1 of the conversation, 1 of the module',
      'turn 1 of the conversation, 2 of the module',
      'turn 1 of the conversation, 1 of the module',
      'turn 2 of the conversation, 1 of the module',
      'turn 2 of the conversation, 2 of the module',
    ],
    old: ['1 1', '1 1', '2 2'],
    // The agent throws an error of its own copy of the SDK, and the gateway runs the turn again.
    failed: 'turn 1 of the conversation, 2 of the module',
    isSame: true,
  })
})
