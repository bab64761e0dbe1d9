import { afterEach, expect, test } from 'vitest'
import type { ApiOutput } from '../context.ts'
import { forgetOwner, forgetPerson } from './view.ts'

afterEach(() => {
  process.exitCode = undefined
})

/** Opens a terminal at a gateway that gives this answer. */
function openTerminal(answer: object) {
  const lines: string[] = []
  const client = { call: async () => answer, close: async () => undefined }
  const output = { json: false, openClient: async () => client, print: (text: string) => lines.push(text) }
  return { printed: lines, output: output as unknown as ApiOutput }
}

const nothing = { messages: 0, links: 0, relations: 0, attachments: 0, traces: 0, unreachable: [], agents: [] }
const file = { owner: 'web:["https://id.test","ada"]', bucket: 'agent-inputs', path: 'x/letter.txt' }

test('forget exits with 1 and says so if nothing matches', async () => {
  const { printed, output } = openTerminal(nothing)
  await forgetPerson(output, { address: 'eve@mail.test' })
  expect(printed).toEqual([
    'The gateway stores nothing of eve@mail.test, so it deleted nothing. List senders with: npx postern messages',
  ])
  expect(process.exitCode).toBe(1)
})

test('forget lists what it deleted and what remains, and exits with 0', async () => {
  const { printed, output } = openTerminal({ ...nothing, messages: 2, links: 1, traces: 3 })
  await forgetPerson(output, { address: 'ada@mail.test' })
  expect(printed[0]).toMatch(
    /^ada@mail\.test: deleted 2 messages, 1 link and 3 other entries\.\nOther copies stay: .*log.*backups/,
  )
  expect(process.exitCode).toBeUndefined()
})

test.each([
  [{ ...file, storage: 's3 https://s3.test/files' }, '  s3 https://s3.test/files: agent-inputs/x/letter.txt'],
  [file, '  unknown storage: agent-inputs/x/letter.txt'],
])('forget exits with 1 and names each file that it could not delete', async (remaining, line) => {
  const counts = { links: 0, runs: 1, threads: 1, attachments: 0, records: 0 }
  const { printed, output } = openTerminal({ owner: file.owner, ...counts, unreachable: [remaining], agents: [] })
  await forgetOwner(output, { owner: file.owner })
  const lines = printed[0]?.split('\n') ?? []
  expect(lines).toContain(line)
  expect(lines).toContain(`  npx postern forget '${file.owner}'`)
  expect(printed[0]).toContain('Not deleted: 1 file in a storage')
  expect(process.exitCode).toBe(1)
})
