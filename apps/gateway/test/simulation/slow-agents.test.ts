import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendSimulated } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveChannelAlias } from '../../src/channels.ts'
import type { ConfigFile } from '../../src/config/read-config.ts'
import { readConfigFile } from '../../src/config/read-config.ts'
import { createProgram } from '../../src/main.ts'
import { createLog } from '../../src/observe/log.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import type { SimulatedGateway } from '../../src/running/run.ts'
import { openDev } from '../../src/running/run.ts'

/** These agents answer after 3 s, never, and with nothing. */
const agents = {
  patient: { use: '../agents/waiting/patient.ts' },
  hanging: { use: '../agents/waiting/hanging.ts', deadline: '1s' },
  endless: { use: '../agents/waiting/hanging.ts' },
}

let dev: SimulatedGateway
let configFile: ConfigFile

beforeAll(async () => {
  const environment = {
    POSTERN_LISTEN_PORT: '0',
    POSTERN_EMAIL_LISTEN_PORT: '0',
    POSTERN_DATA: mkdtempSync(join(tmpdir(), 'postern-slow-agents-')),
  }
  configFile = await readConfigFile({ environment, workingDir: import.meta.dirname, settings: { agents } })
  dev = await openDev(configFile, { log: createLog({ level: 'silent', readable: false }) })
})
afterAll(() => dev.stop())

async function runSendCommand(request: Parameters<typeof sendSimulated>[1]) {
  const lines: string[] = []
  const output = {
    openClient: () => openOperatorClient(configFile),
    json: false,
    print: (text: string) => lines.push(text),
  }
  const failure = await sendSimulated(output, request, resolveChannelAlias).then(
    () => '',
    (error: Error) => error.message,
  )
  return { text: lines.join('\n'), failure }
}

const channels = ['activitypub', 'a2a', 'email', 'web', 'chat']

test.concurrent.each(channels)(
  'the command says meanwhile that an agent works which takes 3 s to answer by %s',
  async via => {
    const { text, failure } = await runSendCommand({ via, to: 'patient', text: 'hello' })
    expect({ text, failure }).toEqual({
      text: expect.stringMatching(
        /^stored {4}(\S+)\nworking {3}.* 65 s at most\n.*\nsent {6}\1 \(\w+\)\nanswered .*Let me think/,
      ),
      failure: '',
    })
  },
)

test.concurrent.each(channels)(
  'the command says that the store has the message when its wait by %s ends before the answer',
  async via => {
    const { text, failure } = await runSendCommand({ via, to: 'endless', text: 'hello', timeout: 0.5 })
    expect(failure).toBe('')
    expect(text).toMatch(
      /^sent {6}\S+ \(working\)\nstored .*still works.*\nexpected {2}answered\nlook {6}npx postern show "/,
    )
    const [, id = ''] = /^sent {6}(\S+)/.exec(text) ?? []
    expect(await dev.gateway.store.findMessage(id)).toMatchObject({ state: 'working', message: { id } })
  },
)

test.concurrent.each(channels)(
  'the command stops waiting at the end of a turn by %s, long before the deadline',
  async via => {
    const { text } = await runSendCommand({ via, to: 'hanging', text: 'hello' })
    expect(text).toMatch(/^(?:stored .*\nworking .*\nlook .*\n)?sent {6}\S+ \((?:answered|failed)\)\nanswered .*Sorry/)
  },
)

test('--timeout requires a number with a unit', async () => {
  const program = createProgram().exitOverride()
  const command = program.commands.find(command => command.name() === 'send')
  command?.exitOverride().configureOutput({ writeErr: () => undefined })
  const args = ['node', 'postern', 'send', '--via', 'web', '--timeout', 'soon', 'hello']
  await expect(program.parseAsync(args)).rejects.toThrow('It must be a number and a unit, like 30s or 2m.')
})
