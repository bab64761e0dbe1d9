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

const agent = `import { next } from './counter.ts'

export default {
  async handle(_message, { state }) {
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
await second.stop()
const { url, token } = first
await first.restart()
const later = await first.chat({ text: 'hello', thread })
const reply = await first.send({ via: 'email', to: 'desk', text: 'again', thread: mail.thread })
const isSame = first.url === url && first.token === token
await first.stop()
console.log(JSON.stringify({ said: [text, mail.reply.text, other.text, later.text, reply.reply.text], isSame }))
`

beforeAll(() => {
  writeFileSync(join(folder, 'counter.ts'), 'let count = 0\nexport const next = () => ++count\n')
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
    isSame: true,
  })
})
