import { execFile } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { RunningGateway } from '../../src/running/run.ts'
import { runDev } from '../../src/running/run.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { findBlock } from './blocks.ts'
import { commandBlocks } from './cases.ts'
import { createDocsFolder } from './folder.ts'

// Each command is a process of its own, and a busy machine starts processes slowly.
vi.setConfig({ testTimeout: 240_000 })

const codeOf = (name: keyof typeof commandBlocks) => findBlock(commandBlocks[name]).code
const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const run = promisify(execFile)
const token = 'token-of-the-docs-0123456789'

/** A script that stands for `npx postern` where the package is installed. */
const tools = createDocsFolder({ npx: `#!/bin/sh\nshift\nexec "${process.execPath}" "${program}" "$@"\n` })
chmodSync(join(tools, 'npx'), 0o755)

describe('the commands in the docs', () => {
  const folder = createDocsFolder({})
  let dev: RunningGateway
  let url: string

  beforeAll(async () => {
    const config = {
      operator_token: token,
      listen: { port: 0 },
      email: { listen: { port: 0, protocol: 'smtp' }, intake: { secret: token } },
      log: { level: 'silent' },
    }
    // The first steps send these messages, the chat, and one more: "#5" in the docs is the last of them.
    dev = await runDev({ tree: config, missingSettings: [], baseDir: folder, path: undefined })
    url = dev.listening[0]?.description ?? ''
  })
  afterAll(() => dev.stop())

  /** Runs a block in the folder of the gateway, line by line and unchanged except for the address of the gateway. */
  async function runBlock(code: string, ...args: readonly string[]): Promise<string> {
    const localCode = code.replace(/https:\/\/agents\.example|http:\/\/127\.0\.0\.1:8787/g, url)
    const env = {
      ...process.env,
      PATH: `${tools}:${process.env.PATH}`,
      TOKEN: token,
      SECRET: token,
      POSTERN_OPERATOR_TOKEN: token,
    }
    const { stdout } = await run('sh', ['-e', '-c', localCode, 'sh', ...args], { cwd: folder, env })
    return stdout
  }

  it('of the first steps in the README send by four channels, list and show messages', async () => {
    const output = await runBlock(codeOf('first').replace('<id>', '1'))
    expect(output.match(/^answered /gm)).toHaveLength(4)
    expect(output).toMatch(/^#\d+ .* web /m)
    expect(output).toMatch(/^message\n {2}#1 /m)
  })

  it('list messages of a remote gateway with only its URL and token', async () => {
    const localCode = codeOf('remote').replace('POSTERN_OPERATOR_TOKEN=…', `POSTERN_OPERATOR_TOKEN=${token}`)
    expect(await runBlock(localCode)).toContain('#1')
  })

  it('name a command of ours for the coding agent to start', async () => {
    const { mcpServers } = JSON.parse(codeOf('mcp')) as { mcpServers: Record<string, { args: readonly string[] }> }
    const [program, command] = mcpServers.postern?.args ?? []
    expect(await runBlock(`npx ${program} ${command} --help`)).toContain('mcp')
  })

  it('install the packages for traces by their names', () => {
    const [, , ...names] = codeOf('telemetry').trim().split(' ')
    expect(names.map(name => import.meta.resolve(name))).toHaveLength(4)
  })

  it('stream an answer of the chat, export its conversation and import one by message', async () => {
    const sendCommand = 'npx postern send --via activitypub --to echo "hello"\n'
    const [first = '', second = '', third = ''] = codeOf('export').trim().split('\n')
    expect(await runBlock(`${codeOf('chat')}\n${sendCommand}`)).toContain('"type":"RUN_FINISHED"')
    await runBlock(`${first}\n${second}\n`)
    const owner = third
      .replace('https://id.example', 'https://agents.test')
      .replace('ann', 'operator')
      .replace('desk', 'echo')
    expect(JSON.parse((await runBlock(owner)).split('\n')[0] ?? '')).toMatchObject({ role: 'user' })
    const list = codeOf('messageList').replace('> messages.csv', '').replace('--agent desk', '--agent echo')
    expect(await runBlock(list)).toContain('"agent":"echo"')
  })

  it.each([
    ['echo@agents.test', 0],
    ['nobody@agents.test', 67],
  ])('hand a mail for %s from a mail server to the pipe, which exits with %i', async (to, code) => {
    const localCode = codeOf('pipe').replaceAll('https://agents.example', url)
    const script = createDocsFolder({
      'to-agents': localCode,
      mail: `From: a@nodmarc.test\r\nTo: ${to}\r\nMessage-ID: <1@x>\r\n\r\nhi\r\n`,
    })
    const exitCode = await run('sh', ['-c', `SECRET=${token} sh to-agents a@nodmarc.test ${to} <mail`], {
      cwd: script,
    }).then(
      () => 0,
      (error: { code: number }) => error.code,
    )
    expect(exitCode).toBe(code)
  })

  it('redirect from the web server of another domain to endpoints that the gateway answers', async () => {
    const paths = [...codeOf('redirect').matchAll(/^location = (\S+) /gm)].map(([, path]) => path)
    expect(paths).toHaveLength(2)
    for (const path of paths) {
      const response = await fetch(`${url}${path}?resource=acct:echo@agents.test`)
      expect([path, response.status]).toEqual([path, 200])
    }
  })
})

it('call an agent over A2A', async () => {
  const gateway = await openTestGateway()
  try {
    const localCode = codeOf('call').replace('https://agents.example', gateway.url())
    const env = { ...process.env, TOKEN: await gateway.simulation.a2a.token({ sub: 'ann' }) }
    expect((await run('sh', ['-c', localCode], { env })).stdout).toContain('"state":"TASK_STATE_COMPLETED"')
  } finally {
    await gateway.close()
  }
})
